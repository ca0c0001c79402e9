package policy

import (
	"slices"

	"routelimit/limit"
	"routelimit/policy/identity"
)

// Limit is one limit of a route.
type Limit struct {
	// Name is unique in the route, ignoring case.
	Name     string
	Identity *identity.Expr
	// Limit.Limit is the default's where there are Plans.
	limit.Limit
	Plans    *Plans          // nil: one limit for all callers
	Cost     int64           // of one request, at least 1
	CostFrom identity.Source // a header that gives the cost in the place of Cost; zero: none
	// EnforcePercent is for how many in a hundred callers the limit refuses. For
	// the others it counts alike and refuses nobody.
	EnforcePercent int
	Bucket         string // limits of one bucket share their counts on whatever route; "" is the route's own
	Lease          int64  // how many requests a worker takes in advance at most; lease.Auto follows the rate; 0 takes none
	Count          []int  // only responses of these status codes stay counted; empty: all
	Route          *Route // the route it belongs to
	Labels         Labels

	charge  limit.Charge
	varies  *variable // what of the charge depends on the request; nil: nothing
	keyHead string    // "rl:{POST:/login|"; without the Envoy route's name where keyPerRoute
	// keyPerRoute puts the name of Envoy's own route behind keyHead.
	keyPerRoute bool
	// sameKey is the index of the first limit of the route that always has the
	// same key; its own index if there is none before it.
	sameKey int
}

// Labels are the texts about a limit that metrics, logs and details repeat.
// They are made once, and none holds a caller's value.
type Labels struct {
	Route     string // Route.Key
	Limit     string // Limit.Name
	Identity  string // "user_id|ip"
	Algorithm string // "sliding_window"
	Window    string // "5m"
}

// Varies reports whether each request decides what the limit is, what it costs or
// whether it refuses.
func (l *Limit) Varies() bool { return l.varies != nil }

// Enforced reports whether the limit refuses some callers at least.
func (l *Limit) Enforced() bool { return !l.Shadow && l.EnforcePercent > 0 }

// Counts reports whether a request that got this status stays counted.
func (l *Limit) Counts(status int) bool {
	return len(l.Count) == 0 || slices.Contains(l.Count, status)
}
