package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"routelimit/limit"
	"routelimit/policy/strictjson"
)

// costAboveLimit: what one request takes never is there.
func costAboveLimit(c *checker, r routeAt) {
	for _, l := range r.limits {
		for _, quota := range l.quotas() {
			one := l.Limit.Limit
			one.Limit = quota
			if most := one.Capacity(); quota > 0 && l.Cost > most {
				c.fail("cost-above-limit", l.at("cost"), `a request costs %d of %d%s, so none ever passes; write a cost of at most %d, or "limit": 0 to refuse every request`,
					l.Cost, most, inAPlan(l), most)
				break
			}
		}
	}
}

func inAPlan(l limitAt) string {
	if l.Plans == nil {
		return ""
	}
	return " in one of the plans"
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
	if tight.Varies() || loose.Varies() {
		return false // it depends
	}
	if tight.quota() > loose.quota() || tight.Cost < loose.Cost {
		return false
	}
	if tight.Algorithm == limit.TokenBucket || loose.Algorithm == limit.TokenBucket {
		return tight.Algorithm == loose.Algorithm && tight.Capacity() <= loose.Capacity()
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
			if sharesCount(earlier, l) && cost(earlier) != cost(l) {
				c.warn("cost-differs", l.at("cost"), `it shares one count with limit %q, where a request costs %s, so the larger cost holds for both; write the same cost, or another window`,
					earlier.Name, cost(earlier))
				break
			}
		}
	}
}

// cost is what a request costs, in words.
func cost(l limitAt) string {
	if from := l.CostFrom.String(); from != "" {
		return "what " + from + " says"
	}
	return strconv.FormatInt(l.Cost, 10)
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
		if l.quota() == 0 && !l.Varies() && len(r.limits) > 1 {
			c.warn("after-block", l.at("limit"), "it refuses every request, so the other limits of the route never count; remove them, or this one")
			return
		}
	}
}

// mostLog is the largest sliding log that costs little.
const mostLog = 200

func largeLog(c *checker, r routeAt) {
	for _, l := range r.limits {
		if most := slices.Max(l.quotas()); l.Algorithm == limit.SlidingLog && most > mostLog {
			c.warn("sliding-log-large", l.at("limit"), `a log of %d entries for each caller, 6 bytes each, is read and written with every request; write at most %d, or "algorithm": "sliding_window"`,
				most, mostLog)
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
	return slices.Equal(a.quotas(), b.quotas()) && planSource(a) == planSource(b) && a.Window == b.Window && a.Algorithm == b.Algorithm && a.Burst == b.Burst
}

// terms are a limit in words.
func terms(l limitAt) string {
	text := fmt.Sprintf("%s in %s by %s", quotas(l), strictjson.FormatDuration(l.Window), l.Algorithm)
	if l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	return text
}

// quotas are the numbers of a limit in words: "10", "300 or 3000 by header:x-plan".
func quotas(l limitAt) string {
	var words []string
	for _, quota := range l.quotas() {
		words = append(words, strconv.FormatInt(quota, 10))
	}
	text := strings.Join(words, " or ")
	if source := planSource(l); source != "" {
		text += " by " + source
	}
	return text
}

// planSource is what tells the plan, "" where there are none.
func planSource(l limitAt) string {
	if l.Plans == nil {
		return ""
	}
	return l.Plans.By.String()
}
