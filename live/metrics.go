package live

import (
	"strings"

	"routelimit/servers"
)

// Reading is what the metrics say at a moment.
type Reading struct {
	// Values are the module's counters and gauges by the names that it gives them.
	Values map[string]uint64
	// Decisions are the times from the question to the decision, in microseconds.
	Decisions []servers.Bucket
}

// labelled is a metric's name taken apart: name.label=.value;.label=.value;.
type labelled struct {
	name   string
	labels map[string]string
}

// cut takes a name apart, as Envoy's stats_tags do. What is no label is left out.
func cut(text string) labelled {
	m := labelled{name: text}
	at := strings.Index(text, "=.")
	if at < 0 {
		return m
	}
	dot := strings.LastIndexByte(text[:at], '.')
	if dot < 0 {
		return m
	}
	m.name, m.labels = text[:dot], map[string]string{}
	for _, part := range strings.Split(text[dot:], ";") {
		if name, value, ok := strings.Cut(strings.TrimPrefix(part, "."), "=."); ok {
			m.labels[name] = value
		}
	}
	return m
}

// counts are what a reading says about one route.
type counts struct {
	Outcomes
	limits map[string]Outcomes
}

// Outcomes count requests by what became of them, as routelimit_requests_total does.
type Outcomes struct {
	Passed        uint64 `json:"passed"`
	Refused       uint64 `json:"refused"`
	ShadowRefused uint64 `json:"shadow_refused"`
	Open          uint64 `json:"open"`
	Unavailable   uint64 `json:"unavailable"`
	LocalPassed   uint64 `json:"local_passed"`
	LocalRefused  uint64 `json:"local_refused"`
	Exempt        uint64 `json:"exempt"`
	Unlimited     uint64 `json:"unlimited"`
}

func (o *Outcomes) field(outcome string) *uint64 {
	switch outcome {
	case "passed":
		return &o.Passed
	case "refused":
		return &o.Refused
	case "shadow_refused":
		return &o.ShadowRefused
	case "open":
		return &o.Open
	case "unavailable":
		return &o.Unavailable
	case "local_passed":
		return &o.LocalPassed
	case "local_refused":
		return &o.LocalRefused
	case "exempt":
		return &o.Exempt
	case "unlimited":
		return &o.Unlimited
	}
	return new(uint64)
}

// turnedAway are requests that did not pass. One that several limits refuse is counted by each.
func (o *Outcomes) turnedAway() uint64 { return o.Refused + o.Unavailable + o.LocalRefused }

// undecided are requests that went by their route's on_error.
func (o *Outcomes) undecided() uint64 {
	return o.Open + o.Unavailable + o.LocalPassed + o.LocalRefused
}

// all are all requests. Of those that passed, every limit counts each.
func (o *Outcomes) all() uint64 {
	return o.Passed + o.Open + o.LocalPassed + o.Exempt + o.Unlimited + o.turnedAway()
}

// byRoute gathers what is counted of each route.
func byRoute(r *Reading) map[string]*counts {
	routes := map[string]*counts{}
	for text, value := range r.Values {
		m := cut(text)
		if m.name != "routelimit_requests_total" {
			continue
		}
		route := routes[m.labels["route"]]
		if route == nil {
			route = &counts{limits: map[string]Outcomes{}}
			routes[m.labels["route"]] = route
		}
		limit := route.limits[m.labels["limit"]]
		*limit.field(m.labels["outcome"]) += value
		route.limits[m.labels["limit"]] = limit
	}
	for _, route := range routes {
		route.sum()
	}
	return routes
}

// sum adds the limits up: a request passes them all, or is refused by some.
func (c *counts) sum() {
	for _, l := range c.limits {
		c.Passed = max(c.Passed, l.Passed+l.ShadowRefused)
		c.Refused += l.Refused
		c.ShadowRefused += l.ShadowRefused
		c.Open += l.Open
		c.Unavailable += l.Unavailable
		c.LocalPassed += l.LocalPassed
		c.LocalRefused += l.LocalRefused
		c.Exempt += l.Exempt
		c.Unlimited += l.Unlimited
	}
}

// kinds are the values of one label of one metric that are not 0.
func kinds(r *Reading, name, label string) map[string]uint64 {
	found := map[string]uint64{}
	for text, value := range r.Values {
		if m := cut(text); m.name == name && value > 0 {
			found[m.labels[label]] += value
		}
	}
	return found
}

// leases are what the metrics say about them.
func leases(r *Reading, routes map[string]*counts) Leases {
	asked := kinds(r, "routelimit_leases_total", "outcome")
	l := Leases{
		Taken: asked["taken"], Refused: asked["refused"], Failed: asked["failed"], Spent: kinds(r, "routelimit_leased_requests_total", "outcome")["spent"],
	}
	for _, route := range routes {
		l.Passed += route.Passed
	}
	return l
}
