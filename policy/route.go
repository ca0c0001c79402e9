package policy

import (
	"net/netip"

	"routelimit/policy/identity"
	"routelimit/policy/route"
)

// Route is what applies to the requests of one template, or of the default.
type Route struct {
	// Key names the route in keys, metrics and logs: "POST:/login",
	// "api.example.com:POST:/login", "default". It is printable ASCII.
	Key      string
	Template string // as configured, "POST /login"; empty for the default
	OnError  OnError
	// NeverUnasked tells that no request may pass that nothing was decided about:
	// on_error is not open, and some limit is enforced.
	NeverUnasked bool
	// Limits are in the order of the configuration. None: declared and unlimited.
	Limits []*Limit
	// Blocked is the first enforced limit of 0: the route refuses every
	// request, without asking Redis. Otherwise nil.
	Blocked *Limit
	// OneKey tells that all limits have the same key, whatever the request.
	OneKey bool
	// Lasting tells that a refusal stands until the moment that Redis gave, number
	// by number: nothing that is charged is given back, since there is one key and
	// all responses count, no other route charges it, and what a request costs does
	// not vary, so that nothing cheaper passes meanwhile.
	Lasting bool
	// Lease is for how many requests of a caller a worker asks at once, at most;
	// lease.Auto follows the rate. 0: every request is asked about.
	Lease int64
	// NeedsBody tells that some limit's identity is read from the body.
	NeedsBody bool
	// Exempt are the client addresses, and ExemptCallers the identities, that
	// are neither counted nor refused.
	Exempt        []netip.Prefix
	ExemptCallers identity.Exempt
	// PerEnvoyRoute gives each of Envoy's own routes its own buckets under the default.
	PerEnvoyRoute bool

	definitions *identity.Definitions
	own         route.Table // of a route from route metadata: its own template
	paths       route.Reading
}

// Components are those of the route's limits, with all alternatives, and of its
// exemptions.
func (r *Route) Components() []identity.Component {
	all := r.ExemptCallers.Components()
	for _, l := range r.Limits {
		for _, alternative := range l.Identity.Alternatives() {
			all = append(all, alternative...)
		}
	}
	return all
}

// OnError says what becomes of a request that Redis could not decide.
type OnError uint8

const (
	Open   OnError = iota // it passes, marked
	Closed                // it is answered 503
	Local                 // the worker decides alone
)

var onErrorNames = []string{"open", "closed", "local"}

// String is as in a configuration.
func (o OnError) String() string { return onErrorNames[o] }

// IsExempt reports whether the caller is exempt on this route.
func (r *Route) IsExempt(req *identity.Request) bool {
	if len(r.Exempt) == 0 && r.ExemptCallers.Empty() {
		return false
	}
	return r.isExemptAddress(req) || r.ExemptCallers.Holds(req)
}

// isExemptAddress is false for a client without an address.
func (r *Route) isExemptAddress(req *identity.Request) bool {
	address, ok := r.definitions.ClientIP(req)
	if !ok {
		return false
	}
	for _, prefix := range r.Exempt {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
