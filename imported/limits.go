package imported

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"routelimit/policy/strictjson"
)

// draft is a limit of the policy, before it has a bucket.
type draft struct {
	counter  string // what the service counts under: its domain, keys and known values
	name     string
	sources  []string // of the identity; none: everybody
	window   time.Duration
	shadow   bool
	cost     int64
	costFrom string

	number  int64
	by      string // "" : number holds for everybody
	values  []planned
	sure    bool // it holds for every request of the route
	service *quota
	place   Place
}

// count tells the counts of limits apart.
func (d draft) count() string {
	return fmt.Sprint(d.counter, d.window, d.shadow)
}

type planned struct {
	value  string
	number int64
}

// draftsOf are the limits for one descriptor.
func (c *converter) draftsOf(a *ask) []draft {
	rules := c.rulesOf(a)
	if len(rules) > mostRules {
		c.lose(a.request.Place, "the service has more than %d limits for this descriptor, by values of the request; they are left out", mostRules)
		return nil
	}
	by, ok := c.selector(a, rules)
	if !ok {
		return nil
	}
	var drafts []draft
	for _, r := range rules {
		q := r.limit
		if q == nil || q.unlimited || slices.ContainsFunc(drafts, func(d draft) bool { return d.window == q.window && d.shadow == q.shadow }) {
			continue
		}
		drafts = append(drafts, c.draftOf(a, rules, by, r))
	}
	if len(drafts) > 0 {
		for _, lost := range a.request.losses {
			c.tell(lost)
		}
	}
	if len(drafts) == 0 && !slices.ContainsFunc(rules, func(r rule) bool { return r.limit != nil }) {
		c.note(a.request.Place, "the service has no limit for this descriptor (%s), so it limits nothing", a.request)
	}
	return drafts
}

// String names a descriptor's entries: "generic_key=login, remote_address".
func (r request) String() string {
	var parts []string
	for _, e := range r.entries {
		if e.source == "" {
			parts = append(parts, e.key+"="+e.value)
		} else {
			parts = append(parts, e.key)
		}
	}
	return strings.Join(parts, ", ")
}

// selector finds the one source by whose value the limit differs; "" if by none.
func (c *converter) selector(a *ask, rules []rule) (string, bool) {
	var by []string
	for i, e := range a.request.entries {
		if e.source != "" && slices.ContainsFunc(rules, func(r rule) bool { return r.picks[i] != "" }) {
			by = append(by, e.source)
		}
	}
	for _, w := range a.request.when {
		by = append(by, w.source)
	}
	switch len(by) {
	case 0:
		return "", true
	case 1:
		return by[0], true
	}
	c.lose(a.request.Place, "the limits for this descriptor (%s) differ by the values of %s together, and by one a limit can differ here; they are left out. Give some of those requests a route of their own",
		a.request, strings.Join(by, " and "))
	return "", false
}

// draftOf makes the limit of all rules that have the window and mode of one.
func (c *converter) draftOf(a *ask, rules []rule, by string, one rule) draft {
	q := one.limit
	d := draft{
		counter: a.counter(one.pools), window: q.window, shadow: q.shadow, cost: a.request.cost, costFrom: a.request.costFrom, by: by,
		service: q, place: a.request.Place, sure: by == "",
	}
	for _, e := range a.request.entries {
		if e.source != "" && !slices.Contains(d.sources, e.source) {
			d.sources = append(d.sources, e.source)
		}
		d.sure = d.sure && !e.optional
	}
	d.name = labelOf(a.request)
	most := (int64(1)<<53 - 1) / q.window.Milliseconds()
	boundless := min(most, 1<<32-1)
	numberOf := func(r rule) int64 {
		switch {
		case r.limit == nil || r.limit.unlimited || r.limit.window != q.window || r.limit.shadow != q.shadow:
			return boundless
		case r.limit.number > most:
			c.lose(r.limit.Place, "%d in %s is more than can be counted exactly here; %d was taken", r.limit.number, strictjson.FormatDuration(q.window), most)
			return most
		}
		return r.limit.number
	}
	if len(a.request.when) == 1 {
		w := a.request.when[0]
		inside, outside := numberOf(rules[0]), boundless
		if w.not {
			inside, outside = outside, inside
		}
		d.values, d.number = []planned{{w.value, inside}}, outside
	} else {
		d.number = boundless
		for _, r := range rules {
			if pick := strings.Join(r.picks, ""); pick == "" {
				d.number = numberOf(r)
			} else {
				d.values = append(d.values, planned{pick, numberOf(r)})
			}
		}
	}
	if len(d.values) > 100 {
		c.lose(a.request.Place, "the service has limits for %d values of %s, and 100 can be listed as plans here; the rest has the limit of all other values", len(d.values), by)
		d.values = d.values[:100]
	}
	if d.number == boundless && by != "" {
		c.note(a.request.Place, "requests with another value of %s have no limit there; here they are counted, and held to %d in %s", by, boundless, strictjson.FormatDuration(q.window))
	}
	return d
}

// counter is what tells the service's counts apart, without the values of requests.
func (a *ask) counter(pools []string) string {
	parts := []string{a.domain}
	for i, e := range a.request.entries {
		parts = append(parts, e.key, cmp.Or(pools[i], e.value, "from "+e.source))
	}
	return fmt.Sprintf("%q", parts)
}

// labelOf is a name for a limit, near to the one in the service's statistics.
func labelOf(r request) string {
	var parts []string
	for _, e := range r.entries {
		if e.source == "" {
			parts = append(parts, e.key+"_"+e.value)
		} else {
			parts = append(parts, e.key)
		}
	}
	return label(strings.Join(parts, "."), 56)
}

// label keeps to the characters that names may have.
func label(text string, most int) string {
	out := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, text)
	if out == "" {
		out = "_"
	}
	return out[:min(len(out), most)]
}
