// Package policy turns a configuration into a checked, immutable [Policy] and
// answers, for one request, which limits apply and under which keys.
//
// It knows neither Envoy nor Redis: a request is seen through
// [identity.Attributes], and what comes out are keys and charges for package
// limit. The same code serves the filter, the tests and the operator's program.
package policy

import (
	"time"

	"routelimit/answer"
	"routelimit/policy/identity"
	"routelimit/policy/route"
)

// Policy is a whole configuration, checked. Nothing in it changes after
// [Parse], so any number of requests may use it.
type Policy struct {
	// Empty tells that there was no configuration, or {}: nothing is limited.
	Empty bool
	Mode  Mode

	Redis struct {
		Cluster   string        // Envoy cluster of the link
		Timeout   time.Duration // from the asking to the answer
		KeyPrefix string        // "rl" in rl:{POST:/login|ip:203.0.113.7}

		// For a Redis that is reached without redis_proxy.
		UsernameEnv, PasswordEnv string // environment variables; "": no AUTH, or that of the user "default"
		Database                 int    // 0: no SELECT
	}
	Body struct {
		MaxBytes int           // of a body that is read for an identity
		Timeout  time.Duration // from the request's headers to the body's end
	}
	Log struct {
		Identity LogIdentity
	}
	DenyCache struct {
		MaxEntries int           // callers that a worker remembers
		MaxTime    time.Duration // for which a refusal is repeated without asking
	}
	Breaker struct {
		Failures int           // in a row, after which Redis is asked no more; 0: it always is
		MaxDelay time.Duration // between two tries then
	}
	Local struct {
		SharePercent int64 // of a limit, for each worker
	}
	Answer answer.Style

	// CountPreflights makes CORS preflights (see [IsPreflight]) ordinary
	// requests; otherwise they are neither counted nor refused.
	CountPreflights bool
	// Paths is how paths are read.
	Paths route.Reading
	// RefuseUndeclared asks for a 404 where Match returns nil. It is false in
	// shadow mode, which refuses nothing.
	RefuseUndeclared bool

	// NeverUnasked tells that some route lets no request pass that nothing was
	// decided about, so that none may pass whose route is not known.
	NeverUnasked bool

	Routes  []*Route // in the order of the configuration
	Default *Route   // what no route covers; nil if nothing applies then

	definitions *identity.Definitions
	table       route.Table // of Routes, by index
}

// Definitions returns who callers are, for those who explain it.
func (p *Policy) Definitions() *identity.Definitions { return p.definitions }

// Mode says what becomes of a decision.
type Mode uint8

const (
	Enforce Mode = iota // refusals are refusals
	Shadow              // every limit is a shadow limit
	Off                 // nothing applies to any request
)

// LogIdentity says how an identity stands in log lines.
type LogIdentity uint8

const (
	LogPlain  LogIdentity = iota // as in the key
	LogHashed                    // as a hash
	LogNone                      // not at all
)

// What holds where the configuration does not say.
const (
	defaultCluster     = "routelimit"
	defaultTimeout     = 50 * time.Millisecond
	defaultKeyPrefix   = "rl"
	defaultBodyBytes   = 16 << 10
	defaultBodyTimeout = 5 * time.Second

	defaultDenyEntries     = 8192
	defaultDenyTime        = 30 * time.Second
	defaultBreakerFailures = 5
	defaultBreakerDelay    = time.Second
	defaultSharePercent    = 10
)

func newPolicy() *Policy {
	p := new(Policy)
	p.Redis.Cluster = defaultCluster
	p.Redis.Timeout = defaultTimeout
	p.Redis.KeyPrefix = defaultKeyPrefix
	p.Body.MaxBytes = defaultBodyBytes
	p.Body.Timeout = defaultBodyTimeout
	p.DenyCache.MaxEntries = defaultDenyEntries
	p.DenyCache.MaxTime = defaultDenyTime
	p.Breaker.Failures = defaultBreakerFailures
	p.Breaker.MaxDelay = defaultBreakerDelay
	p.Local.SharePercent = defaultSharePercent
	p.definitions = identity.NewDefinitions(nil, identity.Client{TrustedHops: -1}, nil)
	return p
}
