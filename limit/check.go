package limit

import (
	"time"

	"routelimit/plainfmt"
)

// The bounds within which the script's arithmetic is exact and its state small.
const (
	MinWindow   = time.Second
	MaxWindow   = 365 * 24 * time.Hour
	MaxRefill   = 100 * MaxWindow    // how long a bucket may take to fill
	MaxLogLimit = 1000               // a sliding log keeps one entry for each unit of cost
	MaxLimit    = 10_000_000_000_000 // what a fixed window may count to
	maxExact    = 1<<53 - 1          // the largest integer up to which a double has no gaps
)

// Check says why the limit cannot be held exactly, or nil. The error names the field, its value and what is allowed.
func (l Limit) Check() error {
	if int(l.Algorithm) >= len(algorithmNames) {
		return plainfmt.Errorf("algorithm %d is unknown; write sliding_window, fixed_window, sliding_log or token_bucket", int(l.Algorithm))
	}
	if l.Window < MinWindow || l.Window > MaxWindow || l.Window%time.Second != 0 {
		return plainfmt.Errorf("window %v is out of range; write whole seconds from 1s to 365 days", l.Window)
	}
	if l.Limit < 0 {
		return plainfmt.Errorf("limit %d is negative; write 0 to refuse everything, or more", l.Limit)
	}
	if l.Burst != 0 && l.Algorithm != TokenBucket {
		return plainfmt.Errorf("burst %d has no meaning for %v; remove it, or use token_bucket", l.Burst, l.Algorithm)
	}
	if l.Burst < 0 {
		return plainfmt.Errorf("burst %d is negative; write 1 or more, or leave it out for as many as the limit", l.Burst)
	}
	if most := l.most(); l.Limit > most {
		return plainfmt.Errorf("limit %d is too large for %v in this window; write at most %d", l.Limit, l.Algorithm, most)
	}
	if most := l.mostBurst(); l.Burst > most {
		return plainfmt.Errorf("burst %d is too large for a refill of %d in this window; write at most %d", l.Burst, l.Limit, most)
	}
	return nil
}

// most is the largest limit that is counted exactly: where it is multiplied by the window in ms, the product stays below
// 2^53.
func (l Limit) most() int64 {
	switch l.Algorithm {
	case FixedWindow:
		return MaxLimit
	case SlidingLog:
		return MaxLogLimit
	default:
		return maxExact / l.windowMS()
	}
}

// mostBurst is the largest burst that is counted exactly and that refills within MaxRefill.
func (l Limit) mostBurst() int64 {
	most, windows := l.most(), int64(MaxRefill/l.Window)
	if l.Limit > 0 && windows <= most/l.Limit {
		return windows * l.Limit
	}
	return most
}
