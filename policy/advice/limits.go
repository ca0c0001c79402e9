package advice

import (
	"fmt"
	"slices"

	"routelimit/limit"
	"routelimit/policy/strictjson"
)

// costAboveLimit: what one request takes never is there.
func costAboveLimit(c *checker, r routeAt) {
	for _, l := range r.limits {
		if l.quota() > 0 && l.Cost > capacity(l) {
			c.fail("cost-above-limit", l.at("cost"), `a request costs %d of %d, so none ever passes; write a cost of at most %d, or "limit": 0 to refuse every request`,
				l.Cost, capacity(l), capacity(l))
		}
	}
}

// capacity is how much passes at once at most.
func capacity(l limitAt) int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.quota()
}

// neverRefuses: another limit refuses whatever this one would.
func neverRefuses(c *checker, r routeAt) {
	for i, loose := range r.limits {
		for j, tight := range r.limits {
			if i == j || tight.shadow || tight.quota() == 0 || !covers(tight, loose) || covers(loose, tight) && i < j {
				continue
			}
			c.warn("never-refuses", loose.at("limit"), `limit %q refuses in the same window whatever this one would; remove this one, or make it tighter or its window longer`, tight.Name)
			break
		}
	}
}

// covers reports whether loose would only refuse what tight does as well. Both
// count the same callers in the same windows, tight at least as much of them.
func covers(tight, loose limitAt) bool {
	if tight.Identity.String() != loose.Identity.String() || tight.Bucket != loose.Bucket || tight.Window != loose.Window {
		return false
	}
	if len(tight.Count) > 0 && !slices.Equal(tight.Count, loose.Count) {
		return false
	}
	if tight.quota() > loose.quota() || tight.Cost < loose.Cost {
		return false
	}
	if tight.Algorithm == limit.TokenBucket || loose.Algorithm == limit.TokenBucket {
		return tight.Algorithm == loose.Algorithm && capacity(tight) <= capacity(loose)
	}
	// An aligned window holds no more than a sliding one of the same length
	// lets through; but in a bucket, other routes may charge only one of them.
	return tight.Algorithm == loose.Algorithm || loose.Algorithm == limit.FixedWindow && loose.Bucket == ""
}

// differingCosts: limits that share a count are charged the largest of their
// costs, all of them.
func differingCosts(c *checker, r routeAt) {
	for i, l := range r.limits {
		for _, earlier := range r.limits[:i] {
			if sharesCount(earlier, l) && earlier.Cost != l.Cost {
				c.warn("cost-differs", l.at("cost"), `it shares one count with limit %q, where a request costs %d, so the larger cost holds for both; write the same cost, or another window`,
					earlier.Name, earlier.Cost)
				break
			}
		}
	}
}

// cancelledCount: what a limit does not count stays charged where a limit that
// shares its count keeps it.
func cancelledCount(c *checker, r routeAt) {
	for i, l := range r.limits {
		if len(l.Count) == 0 {
			continue
		}
		for j, other := range r.limits {
			keeps := len(other.Count) == 0 || slices.ContainsFunc(other.Count, func(status int) bool { return !l.Counts(status) })
			if j != i && sharesCount(l, other) && keeps {
				c.warn("count-cancelled", l.at("count"), `it shares one count with limit %q, which also counts other statuses, so these count here too; write another window`, other.Name)
				break
			}
		}
	}
}

// sharesCount reports whether two limits of a route always share one charge.
func sharesCount(a, b limitAt) bool {
	return a.Identity.String() == b.Identity.String() && a.Bucket == b.Bucket && a.Limit.SharesState(&b.Limit.Limit)
}

// afterBlock: a limit of 0 refuses before any other is asked.
func afterBlock(c *checker, r routeAt) {
	for _, l := range r.enforced() {
		if l.quota() == 0 && len(r.limits) > 1 {
			c.warn("after-block", l.at("limit"), "it refuses every request, so the other limits of the route never count; remove them, or this one")
			return
		}
	}
}

// mostLog is the largest sliding log that costs little.
const mostLog = 200

func largeLog(c *checker, r routeAt) {
	for _, l := range r.limits {
		if l.Algorithm == limit.SlidingLog && l.quota() > mostLog {
			c.warn("sliding-log-large", l.at("limit"), `a log of %d entries for each caller, 6 bytes each, is read and written with every request; write at most %d, or "algorithm": "sliding_window"`,
				l.quota(), mostLog)
		}
	}
}

// differingBuckets: what shares its counts should count alike.
func differingBuckets(c *checker) {
	first := map[string]limitAt{}
	for _, r := range c.routes {
		for _, l := range r.limits {
			if l.Bucket == "" {
				continue
			}
			one, seen := first[l.Bucket]
			if !seen {
				first[l.Bucket] = l
			} else if !countsLike(one, l) {
				c.warn("bucket-differs", l.at("bucket"), `limit %q of %s shares the bucket %q, and has %s where this one has %s; write the same, or another bucket`,
					one.Name, one.Route.Key, l.Bucket, terms(one), terms(l))
			}
		}
	}
}

func countsLike(a, b limitAt) bool {
	return a.quota() == b.quota() && a.Window == b.Window && a.Algorithm == b.Algorithm && a.Burst == b.Burst
}

// terms are a limit in words.
func terms(l limitAt) string {
	text := fmt.Sprintf("%d in %s by %s", l.quota(), strictjson.FormatDuration(l.Window), l.Algorithm)
	if l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	return text
}
