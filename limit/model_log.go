package limit

import "sort"

// logState is the times in ms of what passed, oldest first.
type logState []int64

func (s logState) answer(q question) outcome {
	length := q.limit.windowMS()
	at, restarted := q.nowMS, false
	if len(s) > 0 {
		newest := s[len(s)-1]
		if newest-q.nowMS > length {
			s, restarted = nil, true
		} else {
			at = max(at, newest)
		}
	}
	dead := sort.Search(len(s), func(i int) bool { return s[i] > at-length })
	live := s[dead:]

	o := outcome{at: at, forget: at + length}
	used := int64(len(live))
	o.verdict.Pass = q.cost <= q.limit.Limit-used
	o.verdict.Restarted = restarted
	if o.verdict.Pass && q.charge && q.cost > 0 {
		next := append(logState(nil), live...)
		for range q.cost {
			next = append(next, at)
		}
		live, used, o.next = next, used+q.cost, next
	}
	o.verdict.Remaining = max(0, q.limit.Limit-used)

	// most are left once the entry that stands most from the end has gone.
	fallsTo := func(most int64) int64 { return live[used-1-most] + length - q.nowMS }
	if used > 0 && q.limit.Limit > 0 {
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

// refund takes out entries of exactly that time, as many as the cost.
func (s logState) refund(at int64, q question) logState {
	first := sort.Search(len(s), func(i int) bool { return s[i] >= at })
	after := first
	for after < len(s) && int64(after-first) < q.cost && s[after] == at {
		after++
	}
	return append(append(logState(nil), s[:first]...), s[after:]...)
}
