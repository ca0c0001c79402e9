package limit

import "math/bits"

// windowState is a window's start in ms, its count and the previous window's.
type windowState struct{ start, count, previous int64 }

func (s windowState) answer(q question) outcome {
	length := q.limit.windowMS()
	s, restarted := s.turned(q.nowMS, length)
	at := max(q.nowMS, s.start)
	left := s.start + length - at
	sliding := q.limit.Algorithm == SlidingWindow
	used := s.count
	if sliding {
		used += ceilMulDiv(s.previous, left, length)
	}

	o := outcome{at: at, forget: s.start + 2*length}
	o.verdict.Pass = q.cost <= q.limit.Limit-used
	o.verdict.Restarted = restarted
	if o.verdict.Pass && q.charge && q.cost > 0 {
		s.count += q.cost
		used += q.cost
		o.next = s
	}
	o.verdict.Remaining = max(0, q.limit.Limit-used)

	fallsTo := func(most int64) int64 {
		if !sliding {
			return s.start + length - q.nowMS
		}
		return at - q.nowMS + s.wait(most, left, length)
	}
	if !sliding || used > 0 && q.limit.Limit > 0 {
		o.verdict.Reset = duration(fallsTo(min(used, q.limit.Limit) - 1))
	}
	if !o.verdict.Pass {
		o.verdict.Wait = Never
		if q.cost <= q.limit.Limit {
			o.verdict.Wait = duration(fallsTo(q.limit.Limit - q.cost))
		}
	}
	return o
}

// turned is the state as it stands now: this window's, or, where the clock went back by less than a window, the stored
// one's, which is then ahead.
func (s windowState) turned(nowMS, length int64) (now windowState, restarted bool) {
	start := nowMS - nowMS%length
	fresh := windowState{start: start}
	switch {
	case s == windowState{}:
		return fresh, false
	case s.start == start || s.start == start+length:
		return s, false
	case s.start == start-length:
		return windowState{start: start, previous: s.count}, false
	default:
		return fresh, s.start > start
	}
}

// wait is in how many ms a sliding window's use has fallen to most, which is less than it is with left ms to go.
func (s windowState) wait(most, left, length int64) int64 {
	if s.count <= most {
		return left - mulDiv(most-s.count, length, s.previous)
	}
	return left + length - mulDiv(most, length, s.count)
}

func (s windowState) refund(at int64, q question) windowState {
	length := q.limit.windowMS()
	switch s.start - (at - at%length) {
	case 0:
		s.count = max(0, s.count-q.cost)
	case length:
		s.previous = max(0, s.previous-q.cost)
	}
	return s
}

// mulDiv is floor(a*b/c) for a, b >= 0 and c > 0, with the product in 128 bits. The quotient must fit.
func mulDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(quotient)
}

// ceilMulDiv is ceil(a*b/c).
func ceilMulDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	quotient, rest := bits.Div64(high, low, uint64(c))
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}
