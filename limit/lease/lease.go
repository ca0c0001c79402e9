package lease

import (
	"math"
	"time"

	"routelimit/limit"
)

// Auto, as how much a lease may be at most, lets it follow the caller's rate.
const Auto = -1

// How much an automatic lease may be: what the caller uses in autoTime, at most a
// share of each limit, and of what is left of it. So where little is left, every
// request is asked about, and refusals are exact.
const (
	autoTime     = time.Second
	autoShare    = 16
	autoLeft     = 8
	autoFirst    = 16  // a first lease is no larger, and each next one no more than twice the last
	leastAuto    = 2   // a smaller one saves nothing
	lowWater     = 4   // more is asked for when so much of a lease is left, as a fraction
	clockDrift   = 1e3 // a lease ends earlier by such a fraction, since clocks do not run alike
	measuredFrom = time.Millisecond
)

// LeastAuto is the smallest limit, in requests, of which an automatic lease is ever
// taken.
const LeastAuto = leastAuto * autoShare

// Idle is how long a caller has sent nothing whose lease is given back.
const Idle = 10 * time.Second

// Lease is what is known of one caller, and what this worker may spend for him.
type Lease struct {
	charges  []limit.Charge // of each request
	decision limit.Decision // the last of Redis, before anything here was spent
	asked    time.Duration  // when the question was sent that it answers

	left  int64         // requests that may be spent
	at    int64         // when they were charged, in ms on Redis' clock
	until time.Duration // when the first of their windows ends
	past  unspent       // of an earlier window

	size     int64         // of the last lease
	used     time.Duration // when a request came last
	since    time.Duration // when the last lease was asked for, or the caller was first seen
	count    int64         // requests since then
	question uint32        // the one that is asked; 0: none
	barred   bool          // the last question brought nothing
}

// unspent is what may be given back: so many requests, charged at a time.
type unspent struct {
	requests, at int64
	counts       time.Duration // until when a window counts them
}

// same says that the lease is for requests that are charged alike.
func (l *Lease) same(charges []limit.Charge) bool {
	if len(l.charges) != len(charges) {
		return false
	}
	for i := range charges {
		if l.charges[i].Limit != charges[i].Limit || l.charges[i].Cost != charges[i].Cost {
			return false
		}
	}
	return true
}

// busy says that the lease is not to be lost.
func (l *Lease) busy(now time.Duration) bool {
	return l.asking(now) || l.left > 0 && now < l.until && now < l.used+Idle
}

// asking says that a question is on its way. One that nothing came of, not even a
// failure, is over at some time.
func (l *Lease) asking(now time.Duration) bool { return l.question != 0 && now < l.since+Idle }

// more is how many requests to ask for now, 0 for none. most is as configured.
func (l *Lease) more(most int64, now time.Duration) int64 {
	if l.asking(now) || l.barred || l.left > l.size/lowWater {
		return 0
	}
	least := int64(1)
	if most == Auto {
		least, most = leastAuto, l.rate(now)
	}
	if most -= l.left; most < least {
		return 0
	}
	return most
}

// rate is how large a lease may be by what the caller uses, and by what is left.
func (l *Lease) rate(now time.Duration) int64 {
	size := 2 * max(l.size, autoFirst/2)
	if seconds := float64(max(now-l.since, measuredFrom)) / float64(autoTime); float64(size)*seconds > float64(l.count) {
		size = int64(float64(l.count) / seconds)
	}
	for i := range l.charges {
		price := limit.Price(l.charges, i)
		if price <= 0 {
			return 0
		}
		left := l.decision.Verdicts[i].Remaining/price + l.left
		size = min(size, l.charges[i].Limit.Limit/price/autoShare, left/autoLeft)
	}
	return size
}

// note keeps what Redis said.
func (l *Lease) note(d *limit.Decision, asked time.Duration) {
	verdicts := append(l.decision.Verdicts[:0], d.Verdicts...)
	l.decision, l.asked = *d, asked
	l.decision.Verdicts = verdicts
}

// sameWindows says that every limit's window of a time is that of the lease.
func (l *Lease) sameWindows(at int64) bool {
	for i := range l.charges {
		if w := l.charges[i].Limit.Window.Milliseconds(); at/w != l.at/w {
			return false
		}
	}
	return true
}

// lasts is for how long what was charged at a time may be spent: until the first
// window ends. Redis counts whole ms, so it may have read its clock almost one
// before the question was sent on ours.
func (l *Lease) lasts(at int64) time.Duration {
	least := time.Duration(math.MaxInt64)
	for i := range l.charges {
		least = min(least, toEnd(l.charges[i].Limit, at))
	}
	return max(0, least-least/clockDrift-time.Millisecond)
}

// counted is for how long some window counts what was charged at a time. A sliding
// one does for as long again after its end.
func (l *Lease) counted(at int64) time.Duration {
	longest := time.Duration(0)
	for i := range l.charges {
		left := toEnd(l.charges[i].Limit, at)
		if l.charges[i].Limit.Algorithm == limit.SlidingWindow {
			left += l.charges[i].Limit.Window
		}
		longest = max(longest, left)
	}
	return longest
}

func toEnd(l *limit.Limit, at int64) time.Duration {
	window := l.Window.Milliseconds()
	return time.Duration(window-at%window) * time.Millisecond
}

// say sets into to what Redis would say about a request that is spent here: what it
// had left when it was asked last, and what is left here.
func (l *Lease) say(now time.Duration, into *limit.Decision) {
	by := now - l.asked
	into.Allowed, into.AtMS = true, l.decision.AtMS+by.Milliseconds()
	into.Verdicts = append(into.Verdicts[:0], l.decision.Verdicts...)
	for i := range into.Verdicts {
		v := &into.Verdicts[i]
		v.Pass, v.Wait, v.Restarted = true, 0, false
		v.Remaining = min(v.Remaining+l.left*limit.Price(l.charges, i), l.charges[i].Limit.Capacity())
		v.Reset = max(time.Millisecond, v.Reset-by)
	}
}
