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
	limit.Limit
	Cost   int64  // of one request, at least 1
	Bucket string // limits of one bucket share their counts on whatever route; "" is the route's own
	Count  []int  // only responses of these status codes stay counted; empty: all
	Route  *Route // the route it belongs to
	Labels Labels

	charge  limit.Charge
	keyHead string // "rl:{POST:/login|"; without the Envoy route's name where keyPerRoute
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

// Counts reports whether a request that got this status stays counted.
func (l *Limit) Counts(status int) bool {
	return len(l.Count) == 0 || slices.Contains(l.Count, status)
}
