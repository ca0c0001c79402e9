// Package replay plays the requests of an access log through a policy: the same
// code finds the route, the identities and the keys as in the proxy, and
// [limit.Hash] decides as the scripts in Redis do.
//
// A log holds less than a request did. What it lacks is never made up: a limit
// whose identity the log cannot hold is left out, see [Settings].
package replay

import (
	"routelimit/accesslog"
	"routelimit/bootstrap"
	"routelimit/policy"
)

// Settings are what neither the policy nor the log says.
type Settings struct {
	// Front is what Envoy does with a request before the filter sees it, for logs
	// whose X-Forwarded-For is as it was received. nil: an Envoy at the edge, with
	// use_remote_address.
	Front *bootstrap.Front
	// Carried are the limits that Envoy's own routes carry, by the route's name.
	Carried map[string]*policy.Route
	// Fallback plays limits whose identity the log has no place for, as if no
	// request had it: by the address. Otherwise they are left out.
	Fallback bool
	// Uses asks for Asked.Use.
	Uses bool
}

// Outcome is what becomes of a request.
type Outcome uint8

// The outcomes.
const (
	Passed     Outcome = iota // every limit that was played lets it through
	Refused                   // 429
	Undeclared                // 404: no route covers it, and "undeclared" is "refuse"
	Exempt
	Unlimited // no limit applies to it
	Preflight // of CORS: not counted
	LeftOut   // limits apply, and the log lacks what each of them needs
	Outcomes  // how many there are
)

var outcomeNames = [Outcomes]string{"passed", "refused", "undeclared", "exempt", "unlimited", "preflight", "left_out"}

func (o Outcome) String() string { return outcomeNames[o] }

// Played is one request and what became of it. It is good until the next is played.
type Played struct {
	Entry   *accesslog.Entry
	Route   *policy.Route // nil: none, not even the default
	Outcome Outcome
	// Groups are the keys that were asked; none if the request was not counted.
	Groups []Group
	// Blocked is the limit of 0 that refused it without a question, and BlockedFor the
	// identity that it is 0 for; "" for everybody.
	Blocked    *policy.Limit
	BlockedFor string
	// LeftOut are the limits of the route that were not played.
	LeftOut []*policy.Limit
}

// Group is one key: one identity on a route or in a bucket.
type Group struct {
	Key      string // in Redis
	Identity string // the caller's part of it
	Limits   []Asked
	// Allowed says that every enforced limit of the key lets the request through.
	Allowed bool

	caller *caller
}

// Asked is what one limit said.
type Asked struct {
	Limit *policy.Limit
	// Used is the alternative of the identity that was present, "ip" or "unknown".
	Used string
	// Pass says whether this limit lets the request through. Refuses says whether it
	// refuses this caller anything: a shadow does not, and with enforce_percent a
	// limit does not refuse everybody.
	Pass, Refuses bool
	// Returned says that the charge was given back, since the limit does not count
	// the response's status.
	Returned bool
	// Use is, with Settings.Uses, how much of the limit the identity uses with this
	// request, had nobody ever been refused anything: the smallest limit (of a
	// bucket: burst) that lets the request through then. More than can be counted is
	// one more than that.
	Use int64
}

// FellBack says whether no alternative of the limit's identity was present.
func (a *Asked) FellBack() bool {
	return a.Used == "unknown" || a.Used == "ip" && !alternative(a.Limit, "ip")
}

func alternative(l *policy.Limit, name string) bool {
	for _, all := range l.Identity.Alternatives() {
		if len(all) == 1 && all[0].Name == name {
			return true
		}
	}
	return false
}
