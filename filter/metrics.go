//go:build wasip1

package main

import (
	"strings"

	"routelimit/limit/lease"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/shim"
)

// The names carry their labels as Envoy's stats_config.stats_tags takes them
// apart: for route, limit, outcome and kind a tag with the regex
// (\.route=\.(.*?);). /stats/prometheus then shows
//
//	routelimit_requests_total{route="POST:/login",limit="pair",outcome="refused"} 11
//
// No value that a caller sends is part of a name: their number depends on routes,
// limits, outcomes and kinds of failures alone.
const (
	requestsTotal = "routelimit_requests_total"
	failuresTotal = "routelimit_failures_total"
	identityTotal = "routelimit_identity_total"
	refundsTotal  = "routelimit_refunds_total"
	leasesTotal   = "routelimit_leases_total"
	leasedTotal   = "routelimit_leased_requests_total"
)

const (
	outcomePassed        = "passed"
	outcomeRefused       = "refused"
	outcomeShadowRefused = "shadow_refused"
	outcomeOpen          = "open"        // passed without an answer of Redis
	outcomeUnavailable   = "unavailable" // answered 503 for lack of one
	outcomeExempt        = "exempt"
	outcomeUnlimited     = "unlimited"    // nothing limits it
	outcomeLocalPassed   = "local_passed" // by the worker's own count, for lack of an answer
	outcomeLocalRefused  = "local_refused"
)

// metrics are what one plugin counts. The counters themselves belong to the
// proxy and are shared by all workers and configurations.
type metrics struct {
	limits   map[*policy.Limit]*limitMetrics
	most     int // of limits and of outcomes
	outcomes map[string]*routeMetrics
	free     map[string]shim.Metric // requests of routes without limits
	failures map[string]shim.Metric
	kinds    [6]shim.Metric // of identity.Noted, by bit

	rejected    shim.Metric // configurations
	routes      shim.Metric // of the configuration in force
	opened      shim.Metric // streams to Redis
	resent      shim.Metric // commands, with their script
	restarted   shim.Metric // states that a clock fault or a foreign value made unusable
	panics      shim.Metric
	badMetadata shim.Metric
	recalled    shim.Metric // refusals without a question
	askedFirst  shim.Metric // requests that a second question was needed for
	breakerOpen shim.Metric // how often Redis was asked no more
	breakerShut shim.Metric // and was asked again
	refundsMade shim.Metric
	refundsLost shim.Metric
	batch       shim.Metric // commands a message

	leasesTaken, leasesRefused, leasesFailed shim.Metric // questions for leases
	// What became of the requests that leases were taken for.
	leaseTaken, leaseSpent, leaseReturned, leaseExpired shim.Metric
	waited                                              shim.Metric // microseconds from the question to the decision
}

// limitMetrics are the counters of one limit.
type limitMetrics struct{ passed, refused, shadowRefused shim.Metric }

// routeMetrics are the counters of a route for requests that no single limit
// decided.
type routeMetrics struct{ open, unavailable, localPassed, localRefused, exempt, refused shim.Metric }

func newMetrics() *metrics {
	m := &metrics{
		limits:   map[*policy.Limit]*limitMetrics{},
		outcomes: map[string]*routeMetrics{},
		free:     map[string]shim.Metric{},
		failures: map[string]shim.Metric{},

		rejected:    shim.DefineCounter("routelimit_rejected_configurations_total"),
		routes:      shim.DefineGauge("routelimit_routes"),
		opened:      shim.DefineCounter("routelimit_link_opened_total"),
		resent:      shim.DefineCounter("routelimit_script_resent_total"),
		restarted:   shim.DefineCounter("routelimit_state_restarted_total"),
		panics:      shim.DefineCounter("routelimit_panics_total"),
		badMetadata: shim.DefineCounter("routelimit_route_metadata_refused_total"),
		recalled:    shim.DefineCounter("routelimit_deny_cache_hits_total"),
		askedFirst:  shim.DefineCounter("routelimit_asked_twice_total"),
		breakerOpen: shim.DefineCounter(label("routelimit_breaker_total", "outcome", "opened")),
		breakerShut: shim.DefineCounter(label("routelimit_breaker_total", "outcome", "closed")),
		refundsMade: shim.DefineCounter(label(refundsTotal, "outcome", "made")),
		refundsLost: shim.DefineCounter(label(refundsTotal, "outcome", "lost")),
		batch:       shim.DefineHistogram("routelimit_batch_commands"),

		leasesTaken:   shim.DefineCounter(label(leasesTotal, "outcome", "taken")),
		leasesRefused: shim.DefineCounter(label(leasesTotal, "outcome", "refused")),
		leasesFailed:  shim.DefineCounter(label(leasesTotal, "outcome", "failed")),
		leaseTaken:    shim.DefineCounter(label(leasedTotal, "outcome", "taken")),
		leaseSpent:    shim.DefineCounter(label(leasedTotal, "outcome", "spent")),
		leaseReturned: shim.DefineCounter(label(leasedTotal, "outcome", "returned")),
		leaseExpired:  shim.DefineCounter(label(leasedTotal, "outcome", "expired")),

		waited: shim.DefineHistogram("routelimit_decision_us"),
	}
	for i, kind := range [...]string{"no_identity", "ambiguous", "oversized", "body_unread", "cost_unread", "plan_unknown"} {
		m.kinds[i] = shim.DefineCounter(label(identityTotal, "kind", kind))
	}
	return m
}

// label appends labels, given as names and values in turn, to a metric's name.
func label(name string, labels ...string) string {
	var b strings.Builder
	b.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		b.WriteString("." + labels[i] + "=." + labelValue(labels[i+1]) + ";")
	}
	b.WriteString(".")
	return b.String()
}

// labelValue keeps a value from ending its label early.
func labelValue(value string) string {
	return strings.Map(func(c rune) rune {
		if c == ';' || c < 0x20 || c == 0x7f {
			return '_'
		}
		return c
	}, value)
}

func requests(route, limit, outcome string) shim.Metric {
	return shim.DefineCounter(label(requestsTotal, "route", route, "limit", limit, "outcome", outcome))
}

// maxDynamic bounds what is kept, beside the configuration's own, for limits that
// come from route metadata, which may change for ever. The proxy finds a counter
// again by its name.
const maxDynamic = 16384

// makeRoom lets all of a configuration's limits be kept.
func (m *metrics) makeRoom(p *policy.Policy) {
	m.most = maxDynamic
	for _, r := range p.Routes {
		m.most += max(1, len(r.Limits))
	}
}

func (m *metrics) limit(l *policy.Limit) *limitMetrics {
	if found := m.limits[l]; found != nil {
		return found
	}
	if len(m.limits) >= m.most {
		clear(m.limits)
	}
	made := &limitMetrics{passed: requests(l.Labels.Route, l.Labels.Limit, outcomePassed)}
	if l.Shadow || l.EnforcePercent < 100 {
		made.shadowRefused = requests(l.Labels.Route, l.Labels.Limit, outcomeShadowRefused)
	}
	if !l.Shadow {
		made.refused = requests(l.Labels.Route, l.Labels.Limit, outcomeRefused)
	}
	m.limits[l] = made
	return made
}

func (m *metrics) route(key string) *routeMetrics {
	if found := m.outcomes[key]; found != nil {
		return found
	}
	if len(m.outcomes) >= m.most {
		clear(m.outcomes)
	}
	made := &routeMetrics{
		open:         requests(key, "", outcomeOpen),
		unavailable:  requests(key, "", outcomeUnavailable),
		localPassed:  requests(key, "", outcomeLocalPassed),
		localRefused: requests(key, "", outcomeLocalRefused),
		exempt:       requests(key, "", outcomeExempt),
		refused:      requests(key, "", outcomeRefused),
	}
	m.outcomes[key] = made
	return made
}

// undeclared stands for the route of requests that no route covers.
const undeclared = "undeclared"

// unlimited counts requests of a route without limits, or, where it is nil, of no
// route at all.
func (m *metrics) unlimited(r *policy.Route) shim.Metric {
	key := undeclared
	if r != nil {
		key = r.Key
	}
	counter, ok := m.free[key]
	if !ok {
		if len(m.free) >= m.most {
			clear(m.free)
		}
		counter = requests(key, "", outcomeUnlimited)
		m.free[key] = counter
	}
	return counter
}

func (m *metrics) failure(kind string) {
	counter, ok := m.failures[kind]
	if !ok {
		counter = shim.DefineCounter(label(failuresTotal, "kind", kind))
		m.failures[kind] = counter
	}
	counter.Add(1)
}

// leased counts what has become of leased requests.
func (m *metrics) leased(c lease.Counts) {
	addTo(m.leaseSpent, c.Spent)
	addTo(m.leaseReturned, c.Returned)
	addTo(m.leaseExpired, c.Expired)
}

func addTo(m shim.Metric, n int64) {
	if n > 0 {
		m.Add(n)
	}
}

func (m *metrics) noted(n identity.Noted) {
	for i := range m.kinds {
		if n.Has(1 << i) {
			m.kinds[i].Add(1)
		}
	}
}
