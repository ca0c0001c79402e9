// Package audit judges a limiter from outside: by when each request that it admitted was sent and answered, and nothing
// that the limiter says of itself.
//
// A request was decided at a time that nobody outside knows, between its sending and its answer. So Over counts only what
// no order of decisions within these bounds explains: it never accuses a limiter that is right, and requests that were on
// their way across a window's boundary can hide an excess of as many.
//
// The requests' times must come from the clock that the limiter decides by, such as that of the same machine, and each
// request costs 1.
package audit

import (
	"cmp"
	"slices"
	"time"

	"routelimit/limit"
)

// Admission is a request that was let through.
type Admission struct{ Sent, Answered time.Time }

// tick is by how much two times that a limiter rounded down to its milliseconds can seem further apart than they were.
const tick = time.Millisecond

// Over is how many requests were admitted beyond what the limit's algorithm allows one identity, at least. The history
// must be whole: all that was admitted since the identity's state was empty.
func Over(l limit.Limit, admitted []Admission) int {
	if l.Algorithm == limit.FixedWindow {
		return overInWindows(l, admitted)
	}
	excess := overInSpan
	if l.Algorithm == limit.SlidingWindow {
		excess = overInSlidingWindow
	}
	// In the order of their answers, so that all decisions up to a request's lie before its answer. What is over is left
	// out of the history, so each excess counts once.
	over := 0
	var kept []Admission
	for _, a := range byAnswer(admitted) {
		if excess(l, append(kept, a)) {
			over++
		} else {
			kept = append(kept, a)
		}
	}
	return over
}

func byAnswer(admitted []Admission) []Admission {
	return slices.SortedFunc(slices.Values(admitted), func(a, b Admission) int { return a.Answered.Compare(b.Answered) })
}

// overInWindows gives each admission to one of the windows in which it may have been decided, as many as possible within
// the limit: window by window, first those that can go into no later one. What is left is over.
func overInWindows(l limit.Limit, admitted []Admission) int {
	window := func(t time.Time) int64 { return t.UnixMilli() / l.Window.Milliseconds() }
	bySending := slices.SortedFunc(slices.Values(admitted), func(a, b Admission) int {
		return cmp.Or(cmp.Compare(window(a.Sent), window(b.Sent)), a.Answered.Compare(b.Answered))
	})
	over := 0
	var waiting []Admission // may have been decided in this window
	for i := 0; i < len(bySending) || len(waiting) > 0; {
		at := window(bySending[min(i, len(bySending)-1)].Sent)
		if len(waiting) > 0 {
			at = window(waiting[0].Sent)
		}
		for ; i < len(bySending) && window(bySending[i].Sent) <= at; i++ {
			waiting = append(waiting, bySending[i])
		}
		slices.SortFunc(waiting, func(a, b Admission) int { return a.Answered.Compare(b.Answered) })
		waiting = waiting[min(int(l.Limit), len(waiting)):]
		var later []Admission
		for _, a := range waiting {
			if window(a.Answered) > at {
				a.Sent = time.UnixMilli((at + 1) * l.Window.Milliseconds()) // now it can only be later
				later = append(later, a)
			} else {
				over++
			}
		}
		waiting = later
	}
	return over
}

// overInSpan says that more requests were decided up to the last one's answer, since one of them was sent, than may be in
// so long a time: the limit in less than a window, or what a bucket holds and is refilled by.
func overInSpan(l limit.Limit, history []Admission) bool {
	end := history[len(history)-1].Answered
	since := slices.SortedFunc(slices.Values(history), func(a, b Admission) int { return b.Sent.Compare(a.Sent) })
	for i, a := range since {
		span := end.Sub(a.Sent) + tick
		most := l.Capacity()
		if l.Algorithm == limit.TokenBucket {
			most += l.Limit * span.Milliseconds() / l.Window.Milliseconds()
		} else if span >= l.Window {
			return false
		}
		if int64(i+1) > most {
			return true
		}
	}
	return false
}

// overInSlidingWindow says that the last one decided of those that are certainly in the newest request's window was
// decided against c + ceil(p (W - e) / W) + 1 <= limit.
func overInSlidingWindow(l limit.Limit, history []Admission) bool {
	newest := history[len(history)-1]
	length := l.Window.Milliseconds()
	start := newest.Answered.UnixMilli() / length * length
	if newest.Sent.UnixMilli() < start {
		return false // perhaps decided in the window before
	}
	count, previous := int64(0), int64(0)
	for _, a := range history {
		sent, answered := a.Sent.UnixMilli(), a.Answered.UnixMilli()
		if sent >= start {
			count++
		} else if sent >= start-length && answered < start {
			previous++
		}
	}
	left := start + length - newest.Answered.UnixMilli()
	return count+(previous*left+length-1)/length > l.Limit
}

// Densest is how many admitted requests were certainly decided within some span shorter than the window, wherever it
// begins: what a caller can get through at once, whatever the algorithm calls a window.
func Densest(window time.Duration, admitted []Admission) int {
	most := 0
	for _, first := range admitted {
		n := 0
		for _, a := range admitted {
			if !a.Sent.Before(first.Sent) && a.Answered.Sub(first.Sent)+tick < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
