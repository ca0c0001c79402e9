// Package local decides by itself, for as long as Redis does not: each caller has a
// token bucket in this worker, with a share of the limit.
//
// Under a limit of L in a window W (a burst of B, where the limit is a token
// bucket, else of L) and a share of s percent, one worker lets pass in a time t of
// an outage at most
//
//	b + r t/W    b = max(cost, floor(B s/100)), r = max(cost, L s/100)
//
// of cost, so a fleet of E Envoys with W workers each E W times that. A request
// that needs more tokens than its share holds would never pass; hence the cost as
// the least.
package local

import (
	"math"
	"time"

	"routelimit/limit"
	"routelimit/limit/recent"
)

// Rule is a limit's share, for requests of one cost. It is made of times: a token
// is the time in which it is refilled.
type Rule struct {
	price time.Duration // of a request
	depth time.Duration // of the full bucket, at least the price
}

// NewRule returns the share of a limit, in percent from 1 to 100. A limit of 0 has
// no share.
func NewRule(l *limit.Limit, cost, percent int64) Rule {
	cost = max(cost, 1)
	holds := max(cost, hundredths(l.Capacity(), percent))
	// Refilled in a window, in hundredths of a unit of cost.
	refill := max(100*float64(cost), float64(l.Limit)*float64(percent))
	token := 100 * float64(l.Window) / refill
	price := round(float64(cost) * token)
	// In whole prices: else what the price was rounded up by would cost the last request.
	depth := round(float64(holds/cost)*float64(price) + float64(holds%cost)*token)
	return Rule{price: price, depth: max(price, depth)}
}

// hundredths is floor(n * percent / 100) without an overflow.
func hundredths(n, percent int64) int64 { return n/100*percent + n%100*percent/100 }

// round rounds up to whole ns, so that no price is too low.
func round(ns float64) time.Duration {
	if ns >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return time.Duration(math.Ceil(ns))
}

// MaxBuckets is how many buckets one worker has.
const MaxBuckets = 16384

// Buckets are the buckets of one worker. Times are of a clock that only goes
// forward.
type Buckets struct {
	table *recent.Table[time.Duration] // when the bucket is full again
}

// New returns buckets that are all full, and takes no memory before the first use.
func New(most int) *Buckets { return &Buckets{table: recent.New[time.Duration](most)} }

// Wait is how long a request has to wait until the bucket of a key holds enough, 0
// if it does now. The key then has a bucket, so that several may be asked for
// before anything is taken. While as many callers as there are buckets have used
// theirs, a further one waits: forgetting a bucket that is not full would give its
// owner a new one.
func (b *Buckets) Wait(key []byte, r Rule, now time.Duration) time.Duration {
	full := b.table.Find(key)
	if full == nil {
		if wait := b.makeRoom(now); wait > 0 {
			return wait
		}
		full, _ = b.table.Put(key)
		*full = now
	}
	return max(0, after(*full, r, now)-now-r.depth)
}

// tries is how many buckets a new caller looks at for one that is full.
const tries = 8

// makeRoom returns 0 when the next new key takes the place of a bucket that is
// full, else the shortest wait for one of those that were looked at. Who uses his
// bucket all the time keeps it, and holds nobody up.
func (b *Buckets) makeRoom(now time.Duration) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range tries {
		oldest := b.table.Oldest()
		if oldest == nil || *oldest <= now {
			return 0
		}
		least = min(least, *oldest-now)
		b.table.Skip()
	}
	return least
}

// Take takes the tokens of a request for which Wait has just returned 0.
func (b *Buckets) Take(key []byte, r Rule, now time.Duration) {
	full, known := b.table.Put(key)
	if !known {
		*full = now
	}
	*full = after(*full, r, now)
}

// after is when a bucket would be full again that now loses the price. Under a
// changed limit it lacks no more than all.
func after(full time.Duration, r Rule, now time.Duration) time.Duration {
	return min(max(full, now), now+r.depth) + r.price
}
