// Package top finds who uses limits most, by walking the keys in Redis.
//
// Its load on a server is bounded: it reads a batch of keys, waits for the answer, and then pauses so long that reading
// takes no more than a share of the time; and it reads no more than a number of keys in one round.
//
// Redis counts what passed. It holds no count of refusals, since a refusal writes nothing; who has nothing left is who is
// refused now.
package top

import (
	"cmp"
	"slices"
	"time"

	"routelimit/policy"
	"routelimit/stored"
)

// Options say what is read and how gently.
type Options struct {
	Prefix string  // of the keys: "rl"
	Share  float64 // of the time that reading may take on each server: 0.05 is a twentieth
	Batch  int64   // keys read in one go
	Keys   int64   // read of each server in one round at most, but for the rest of a batch
	Most   int     // entries in a list

	Policy *policy.Policy // what the limits are; nil: nobody knows, and nobody is said to be refused

	Pause func(time.Duration) error // in the place of sleeping, for tests
}

// Picture is what one round found.
type Picture struct {
	Keys    int64   `json:"keys"`    // read
	Servers int     `json:"servers"` // primaries
	Sample  bool    `json:"sample"`  // there are more keys than were read
	Foreign int64   `json:"foreign"` // keys of that prefix that are none of routelimit's
	Routes  []Route `json:"routes"`  // most used first
	Used    []Entry `json:"used"`    // most used first
	Refused []Entry `json:"refused"` // those with nothing left, most used first

	routes map[string]*Route
}

// Route is what callers of one route, or one bucket, use together.
type Route struct {
	Scope   string `json:"scope"`
	Keys    int64  `json:"keys"`
	Used    int64  `json:"used"`    // of each caller's most used limit
	Refused int64  `json:"refused"` // callers with nothing left
}

// Entry is one caller on one route.
type Entry struct {
	Key      string `json:"key"`
	Scope    string `json:"scope"`
	Identity string `json:"identity"`
	Used     int64  `json:"used"`            // of the limit of which the largest part is used
	Of       int64  `json:"of,omitempty"`    // how much that limit lets pass; 0: not known
	Limit    string `json:"limit,omitempty"` // its name, or its field where no policy is known
	Refused  bool   `json:"refused"`
}

// mostRoutes bounds what is told apart; whatever comes later is one route, "others".
const mostRoutes = 1000

// add counts what is under a key.
func (p *Picture) add(o *Options, text string, values map[string]string, nowMS int64) {
	p.Keys++
	key, err := stored.ParseKey(text)
	fields := stored.ParseFields(values)
	if err != nil || slices.ContainsFunc(fields, func(f stored.Field) bool { return f.Kind == stored.Unknown }) {
		p.Foreign++
		return
	}
	entry := measure(o.Policy, key, fields, nowMS)
	if entry.Used == 0 {
		return // what was counted has passed
	}
	r := p.route(key.Scope)
	r.Keys++
	r.Used += entry.Used
	p.Used = keep(p.Used, entry, o.Most)
	if entry.Refused {
		r.Refused++
		p.Refused = keep(p.Refused, entry, o.Most)
	}
}

func (p *Picture) route(scope string) *Route {
	if p.routes == nil {
		p.routes = map[string]*Route{}
	}
	if p.routes[scope] == nil && len(p.routes) >= mostRoutes {
		scope = "others"
	}
	if p.routes[scope] == nil {
		p.routes[scope] = &Route{Scope: scope}
	}
	return p.routes[scope]
}

// measure finds the limit of a key of which the largest part is used; without a policy, the field that counts most.
func measure(p *policy.Policy, key stored.Key, fields []stored.Field, nowMS int64) Entry {
	most := Entry{Key: key.Text, Scope: key.Scope, Identity: key.Identity}
	if p == nil {
		for i := range fields {
			if used := fields[i].Used(nowMS, true, 0); used > most.Used {
				most.Used, most.Limit = used, fields[i].Name
			}
		}
		return most
	}
	part := -1.0
	for _, l := range stored.Limits(p, key, fields) {
		used, of := stored.Used(&l.Limit, fields, nowMS), l.Capacity()
		if l.Enforced() && !l.Varies() && used >= of {
			most.Refused = true
		}
		if share := float64(used) / float64(max(1, of)); used > 0 && share > part {
			part, most.Used, most.Of, most.Limit = share, used, of, l.Name
		}
	}
	return most
}

// keep adds an entry to a list that holds the most used ones. A key that SCAN returns twice stands there once.
func keep(list []Entry, e Entry, most int) []Entry {
	if len(list) == most && e.Used < list[most-1].Used {
		return list
	}
	list = slices.DeleteFunc(list, func(other Entry) bool { return other.Key == e.Key })
	list = append(list, e)
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(len(list), most)]
}

// merge adds what was found on another server.
func (p *Picture) merge(other *Picture, most int) {
	p.Keys += other.Keys
	p.Servers += other.Servers
	p.Foreign += other.Foreign
	p.Sample = p.Sample || other.Sample
	for scope, r := range other.routes {
		own := p.route(scope)
		own.Keys, own.Used, own.Refused = own.Keys+r.Keys, own.Used+r.Used, own.Refused+r.Refused
	}
	for _, e := range other.Used {
		p.Used = keep(p.Used, e, most)
	}
	for _, e := range other.Refused {
		p.Refused = keep(p.Refused, e, most)
	}
}

// finish makes the list of routes.
func (p *Picture) finish(most int) {
	p.Routes = []Route{}
	for _, r := range p.routes {
		p.Routes = append(p.Routes, *r)
	}
	slices.SortFunc(p.Routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(a.Scope, b.Scope))
	})
	p.Routes = p.Routes[:min(len(p.Routes), most)]
}
