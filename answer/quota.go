package answer

import "time"

// Quota is what one enforced limit said about a request.
type Quota struct {
	Name      string
	Limit     int64
	Window    time.Duration
	Remaining int64         // how many requests of cost 1 would pass now; less than 0 is shown as 0
	Reset     time.Duration // until there is more
	Refused   bool
	Wait      time.Duration // after a refusal: until the same request passes; negative: it never does
}

// maxInteger is the largest integer of a structured field (RFC 9651, 3.3.1).
const maxInteger = 999_999_999_999_999

// seconds rounds up, so that nobody comes too early.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return max(0, s)
}

// shown are the numbers of a quota as headers have them.
type shown struct {
	limit, window, remaining, reset int64
	// never: a limit of 0, which no reset raises. Where a dialect requires a
	// reset it is the window, and elsewhere none is written.
	never bool
}

// shown gives the numbers. After a refusal the reset is the wait, so that it
// agrees with Retry-After, and at least a second: 0 would invite the next
// attempt at once.
func (q *Quota) shown() shown {
	reset := seconds(q.Reset)
	if q.Refused {
		if q.Wait >= 0 {
			reset = seconds(q.Wait)
		}
		reset = max(1, reset)
	}
	never := q.Limit <= 0
	if never {
		reset = max(1, seconds(q.Window))
	}
	return shown{
		never:     never,
		limit:     within(q.Limit),
		window:    max(1, seconds(q.Window)),
		remaining: within(q.Remaining),
		reset:     within(reset),
	}
}

func within(n int64) int64 { return min(max(0, n), maxInteger) }

// tightest is the index of the limit that speaks for all: one that refused
// before one that passed, then the least left, then the longest reset, then
// the first.
func tightest(quotas []Quota) int {
	best := 0
	for i := range quotas {
		if i > 0 && tighter(&quotas[i], &quotas[best]) {
			best = i
		}
	}
	return best
}

func tighter(a, b *Quota) bool {
	if a.Refused != b.Refused {
		return a.Refused
	}
	x, y := a.shown(), b.shown()
	if x.remaining != y.remaining {
		return x.remaining < y.remaining
	}
	return x.reset > y.reset
}

// retryAfter is the time in whole seconds, at least 1, after which a refused
// request passes if nothing else happens: the longest wait. It is false if the
// request never passes, or if none refused it.
func retryAfter(quotas []Quota) (int64, bool) {
	after := int64(0)
	for i := range quotas {
		q := &quotas[i]
		if !q.Refused {
			continue
		}
		if q.Wait < 0 {
			return 0, false
		}
		after = max(after, seconds(q.Wait), 1)
	}
	return after, after > 0
}
