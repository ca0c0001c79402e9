// Package limit holds the algorithms that count requests: a Redis script that decides, its model in Go, the commands
// that run the script and the decisions that come back.
//
// All limits of one identity live in one hash, and one call decides them: all are charged, or none is. Every number is
// an integer; times are in milliseconds on the wire and time.Duration in Go.
//
// With W the window, e the time elapsed in it, c its count and p the previous window's, a request of a given cost passes
//
//	fixed_window    if c + cost <= limit
//	sliding_window  if c + ceil(p (W - e) / W) + cost <= limit
//	sliding_log     if requests in (now - W, now] + cost <= limit
//	token_bucket    if the bucket, burst tokens large and refilled by limit tokens each W, holds cost tokens
//
// Windows are aligned to the Unix epoch.
package limit

import (
	"time"

	"routelimit/plainfmt"
)

// Algorithm is how a limit counts.
type Algorithm uint8

// The algorithms; SlidingWindow is the default.
const (
	SlidingWindow Algorithm = iota
	FixedWindow
	SlidingLog
	TokenBucket
)

var algorithmNames = [...]string{"sliding_window", "fixed_window", "sliding_log", "token_bucket"}

// String is the algorithm's name in a configuration.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "unknown"
}

// AlgorithmNames lists the names that ParseAlgorithm knows.
func AlgorithmNames() []string { return append([]string(nil), algorithmNames[:]...) }

// ParseAlgorithm finds an algorithm by its name.
func ParseAlgorithm(name string) (Algorithm, error) {
	for i, known := range algorithmNames {
		if name == known {
			return Algorithm(i), nil
		}
	}
	return 0, plainfmt.Errorf("unknown algorithm %q; write sliding_window, fixed_window, sliding_log or token_bucket", name)
}

// Limit is one limit.
type Limit struct {
	Algorithm Algorithm
	// Limit is how much cost passes in a window; a token bucket's refill in tokens each window. 0 refuses everything.
	Limit int64
	// Window is whole seconds, 1 s to 365 days.
	Window time.Duration
	// Burst is how many tokens a token bucket holds; 0 means as many as Limit.
	Burst int64
	// Shadow limits are counted in fields of their own and refuse nobody.
	Shadow bool
	// Unenforced limits refuse nobody, but are counted in the same field as if they did, so that enforcing one finds what
	// was used.
	Unenforced bool
}

// Refuses says whether a request that the limit does not let pass is refused.
func (l *Limit) Refuses() bool { return !l.Shadow && !l.Unenforced }

// Charge is one limit, and what a request costs under it. Cost 0 only looks, and a negative one counts 1.
type Charge struct {
	Limit *Limit
	Cost  int64

	// Its parts of a command where no other charge shares its state; empty: not prepared.
	numbers, field string
}

// NewCharge is the charge for requests of one cost, with its parts of the command prepared. The limit must not change
// afterwards. A Charge made without it does the same at more expense.
func NewCharge(l *Limit, cost int64) Charge {
	c := Charge{Limit: l, Cost: cost}
	price, refill := shared([]Charge{c}, 0)
	c.numbers = string(appendLimit(nil, l, price, refill))
	c.field = string(appendField(nil, &c))
	return c
}

// windowMS is the window in ms.
func (l *Limit) windowMS() int64 { return int64(l.Window / time.Millisecond) }

// Capacity is how many units of cost can pass at once at most.
func (l *Limit) Capacity() int64 {
	if l.Algorithm == TokenBucket && l.Burst > 0 && l.Limit > 0 {
		return l.Burst
	}
	return l.Limit
}
