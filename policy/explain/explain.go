// Package explain says what a policy makes of one request, step by step: its
// path, its route, its limits, who is calling, and the keys in Redis. It is no
// part of the module, and decides nothing.
//
// Nothing in a [Report] shows a secret identity in clear.
package explain

import (
	"routelimit/policy"
	"routelimit/policy/identity"
)

// Report is what a policy makes of a request.
type Report struct {
	Method string `json:"method"`
	Host   string `json:"host"`
	// Path is as it was sent, without its query and with *** for secrets.
	Path       string `json:"path"`
	Normalised string `json:"normalised_path"`
	Client     Client `json:"client"`
	Route      *Route `json:"route"` // nil: none, not even the default
	// Outcome is what becomes of the request without asking Redis; Asks means
	// that Redis decides.
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"` // of the outcome
	Limits  []Limit `json:"limits"`
	Keys    []Key   `json:"keys"`
}

// Outcome is what becomes of a request.
type Outcome string

// The outcomes.
const (
	Passes  Outcome = "passes"
	Refused Outcome = "refused"
	Asks    Outcome = "asks"
)

// Client is the caller's address.
type Client struct {
	Address string `json:"address"` // "": there is none
	From    string `json:"from"`
	Assumed bool   `json:"assumed"` // nobody said who connects
}

// Route is the route that won.
type Route struct {
	Key      string `json:"key"`
	Template string `json:"template"` // "" for the default
	From     string `json:"from"`     // "routes", "default" or "metadata of an Envoy route"
	OnError  string `json:"on_error"`
	Beaten   []Loss `json:"beaten"`
}

// Loss is another route that matches, and why it did not win.
type Loss struct {
	Template string `json:"template"`
	Why      string `json:"why"` // of the one that did
}

// Limit is one limit of the route, as it holds for this request.
type Limit struct {
	Name     string `json:"name"`
	Terms    string `json:"terms"` // "10 in 5m by sliding_log"
	Identity string `json:"identity"`
	PlanBy   string `json:"plan_by,omitempty"` // what tells the plan; "": all have one limit
	Plan     string `json:"plan,omitempty"`    // "": the default holds
	Cost     int64  `json:"cost"`
	CostFrom string `json:"cost_from,omitempty"` // the header that gives it
	// CostUnread: that header is missing, there twice or no positive whole number,
	// and 1 counts.
	CostUnread bool `json:"cost_unread,omitempty"`
	Shadow     bool `json:"shadow"`
	// EnforcePercent is for how many in a hundred callers the limit refuses, and
	// Enforced whether for this one.
	EnforcePercent int           `json:"enforce_percent"`
	Enforced       bool          `json:"enforced"`
	Lease          string        `json:"lease,omitempty"` // "10" or "auto"; "": every request is asked about
	Count          []int         `json:"count"`
	Tried          []Alternative `json:"tried"`
	Used           string        `json:"used"` // the alternative, "ip" or "unknown"
	Key            string        `json:"key"`
}

// Alternative is one alternative of an identity that was looked at.
type Alternative struct {
	Text       string      `json:"text"`
	Present    bool        `json:"present"`
	Components []Component `json:"components"`
}

// Component is one component, as it was found or not.
type Component struct {
	Name  string `json:"name"`
	From  string `json:"from"`
	Value string `json:"value"` // as in the key; "": missing
	Why   string `json:"why"`   // missing, or what was done to the value
}

// Key is one key in Redis and the limits that one call decides under it.
type Key struct {
	Key    string   `json:"key"`
	Slot   uint16   `json:"slot"`
	Limits []string `json:"limits"`
	Left   []Left   `json:"left,omitempty"` // parallel to Limits, if Redis was asked

	group *policy.Group
}

// Left is what Redis says of one limit, before the request is counted.
type Left struct {
	Remaining int64 `json:"remaining"` // of the limit, in units of cost
	ResetMS   int64 `json:"reset_ms"`  // until one more frees; of a bucket until it is full
	Passes    bool  `json:"passes"`    // whether the request would
}

// Request is a request with what the configuration does not know of it.
type Request struct {
	identity.Attributes
	Body *identity.Body // nil: there is none
	// Route is what Envoy's own route carries, or nil.
	Route *policy.Route
}

// Explain returns what a policy makes of a request.
func Explain(p *policy.Policy, r Request) *Report {
	method, _ := r.Header(":method", 0)
	host, _ := r.Header(":authority", 0)
	path, _ := r.Header(":path", 0)
	report := &Report{Method: method, Host: host, Limits: []Limit{}, Keys: []Key{}}

	var matched policy.Matched
	route := find(p, r, method, host, path, &matched)
	request := &identity.Request{Attrs: r.Attributes, Body: r.Body, Params: matched.Params}
	client := p.Definitions().TraceClient(request)
	report.Client = Client{Address: client.Address, From: client.From}

	matching := p.Candidates(method, host, path)
	if r.Route != nil {
		carried := policy.Candidate{Route: r.Route, Params: matched.Params}
		matching = append([]policy.Candidate{carried}, matching...)
	}
	report.Path, report.Normalised = showPaths(p, path, matching)
	report.Route = describeRoute(p, r.Route, route, matching)

	report.Outcome, report.Why = outcome(p, route, request)
	if report.Outcome == Asks || route != nil && route.Blocked != nil {
		blocked := report.addLimits(route, request)
		if report.Outcome == Asks && blocked != nil {
			report.Outcome, report.Why = Refused, `limit "`+blocked.Name+`" is 0 for this caller`
		}
		report.refuseDear()
	}
	return report
}

// find is how the filter finds the route of a request.
func find(p *policy.Policy, r Request, method, host, path string, matched *policy.Matched) *policy.Route {
	if r.Route != nil && p.Mode != policy.Off {
		r.Route.Capture(path, matched)
		return r.Route
	}
	return p.Match(method, host, path, matched)
}

// outcome is what is known before Redis is asked.
func outcome(p *policy.Policy, route *policy.Route, r *identity.Request) (Outcome, string) {
	switch {
	case p.Mode == policy.Off:
		return Passes, `the mode is "off"`
	case !p.CountPreflights && policy.IsPreflight(r.Attrs):
		return Passes, "it is a CORS preflight, which is not counted"
	case route == nil && p.RefuseUndeclared:
		return Refused, `no route covers it, and "undeclared" is "refuse": 404`
	case route == nil:
		return Passes, "no route covers it, and there is no default"
	case len(route.Limits) == 0:
		return Passes, "the route has no limits"
	case route.ExemptCallers.Holds(r):
		return Passes, "the caller is exempt by an identity"
	case route.IsExempt(r):
		return Passes, "the client's address is exempt"
	case route.Blocked != nil:
		return Refused, `limit "` + route.Blocked.Name + `" is 0`
	}
	return Asks, "Redis decides"
}
