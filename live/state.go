package live

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"routelimit/policy"
	"routelimit/simulate"
)

// State is what the page shows.
type State struct {
	Now      int64     `json:"now"`  // in ms since the epoch
	Step     int64     `json:"step"` // between two samples, in ms
	Facts    []Fact    `json:"facts"`
	Warnings []string  `json:"warnings"`
	Problem  string    `json:"problem"` // why the numbers stand still; "" if they do not
	Trouble  string    `json:"trouble"` // that Redis does not decide now; "" if it does
	Routes   []Route   `json:"routes"`
	LeftOut  int       `json:"left_out"` // routes
	Link     Link      `json:"link"`
	Refusals []Refusal `json:"refusals"`
	Callers  *Callers  `json:"callers"` // nil: not read yet
}

// Fact is a line about what runs where.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Route is what became of a route's requests, in all and over time, the oldest sample first.
type Route struct {
	Key      string   `json:"key"`
	OnError  string   `json:"on_error"`
	Declared bool     `json:"declared"` // by the policy; other routes come from route metadata
	Limits   []Limit  `json:"limits"`
	Requests uint64   `json:"requests"`
	Outcomes Outcomes `json:"outcomes"`
	Over     []uint64 `json:"over"`    // requests
	Refused  []uint64 `json:"refused"` // of these, did not pass
}

// Limit is one limit of a route and what it did.
type Limit struct {
	Name     string   `json:"name"`
	Terms    string   `json:"terms"`
	Identity string   `json:"identity"`
	Shadow   bool     `json:"shadow"`
	Outcomes Outcomes `json:"outcomes"`
}

// Link is the state of the way to Redis.
type Link struct {
	BreakerOpen uint64    `json:"breaker_open"` // workers that do not ask now
	Opened      uint64    `json:"opened"`       // how often a worker stopped asking
	Streams     uint64    `json:"streams"`
	Failures    []Count   `json:"failures"`
	P50         []float64 `json:"p50"` // by sample, in microseconds; 0: nothing was decided
	P99         []float64 `json:"p99"`
	MedianAll   float64   `json:"median_all"` // since the start
	P99All      float64   `json:"p99_all"`
	Decisions   uint64    `json:"decisions"`
	DenyHits    uint64    `json:"deny_hits"`
	Leases      Leases    `json:"leases"`
	Resent      uint64    `json:"resent"`
	RefundsLost uint64    `json:"refunds_lost"`
	Panics      uint64    `json:"panics"`
}

// Leases are requests that were admitted without asking, since they had been charged in advance.
type Leases struct {
	Taken   uint64 `json:"taken"`   // leases
	Refused uint64 `json:"refused"` // questions for leases: nothing was left
	Failed  uint64 `json:"failed"`  // questions for leases: no answer
	Spent   uint64 `json:"spent"`   // requests that were not asked about
	Passed  uint64 `json:"passed"`  // requests of all routes that passed, those included
}

// Count is how often something happened.
type Count struct {
	Name string `json:"name"`
	N    uint64 `json:"n"`
}

// state puts the page's numbers together.
func (p *Page) state(now time.Time) *State {
	s := &State{
		Now: now.UnixMilli(), Step: period.Milliseconds(), Facts: list(p.options.Facts), Warnings: list(p.options.Warnings),
		Refusals: p.tail.refusals(),
	}
	if p.callers != nil {
		s.Callers = p.callers.look(now)
	}
	p.sampler.mu.Lock()
	defer p.sampler.mu.Unlock()
	s.Problem, s.Trouble = p.sampler.problem, p.sampler.trouble()
	s.Routes, s.LeftOut = p.routes()
	s.Link = p.link()
	return s
}

// list is never null in JSON.
func list[T any](of []T) []T { return append([]T{}, of...) }

// maxShown are the routes on the page.
const maxShown = 50

// routes are those of the policy and those that were counted, the busiest first.
func (p *Page) routes() (shown []Route, leftOut int) {
	declared := map[string]*policy.Route{}
	var keys []string
	for _, r := range p.options.Policy.Routes {
		declared[r.Key], keys = r, append(keys, r.Key)
	}
	if d := p.options.Policy.Default; d != nil {
		declared[d.Key], keys = d, append(keys, d.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(p.sampler.routes)) {
		if declared[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(p.counted(b).all(), p.counted(a).all()) })
	shown = []Route{}
	for _, key := range keys[:min(len(keys), maxShown)] {
		shown = append(shown, p.route(key, declared[key]))
	}
	return shown, len(keys) - len(shown)
}

// counted is never nil.
func (p *Page) counted(key string) *counts {
	if c := p.sampler.routes[key]; c != nil {
		return c
	}
	return &counts{}
}

func (p *Page) route(key string, declared *policy.Route) Route {
	counted := p.counted(key)
	r := Route{
		Key: shortened(key), Declared: declared != nil, Limits: []Limit{}, Outcomes: counted.Outcomes, Requests: counted.all(),
		Over: []uint64{}, Refused: []uint64{},
	}
	for _, s := range p.sampler.samples {
		r.Over, r.Refused = append(r.Over, s.routes[key].requests), append(r.Refused, s.routes[key].refused)
	}
	if declared == nil {
		return r
	}
	r.OnError = declared.OnError.String()
	for _, l := range declared.Limits {
		r.Limits = append(r.Limits, Limit{
			Name: l.Name, Terms: simulate.Terms(l), Identity: l.Identity.String(), Shadow: !l.Enforced(), Outcomes: counted.limits[l.Labels.Limit],
		})
	}
	return r
}

func (p *Page) link() Link {
	l := Link{Failures: []Count{}, P50: []float64{}, P99: []float64{}}
	for _, s := range p.sampler.samples {
		l.P50, l.P99 = append(l.P50, s.p50), append(l.P99, s.p99)
	}
	r := p.sampler.last
	if r == nil {
		return l
	}
	breaker := kinds(r, "routelimit_breaker_total", "outcome")
	l.Opened, l.BreakerOpen = breaker["opened"], breaker["opened"]-min(breaker["opened"], breaker["closed"])
	failures := kinds(r, "routelimit_failures_total", "kind")
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		l.Failures = append(l.Failures, Count{shortened(kind), failures[kind]})
	}
	l.MedianAll, l.P99All, l.Decisions = quantiles(nil, r.Decisions)
	l.Streams = r.Values["routelimit_link_opened_total"]
	l.DenyHits = r.Values["routelimit_deny_cache_hits_total"]
	l.Leases = leases(r, p.sampler.routes)
	l.Resent = r.Values["routelimit_script_resent_total"]
	l.RefundsLost = kinds(r, "routelimit_refunds_total", "outcome")["lost"]
	l.Panics = r.Values["routelimit_panics_total"]
	return l
}
