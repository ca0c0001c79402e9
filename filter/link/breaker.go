package link

import "time"

// breaker ends the asking when the link has failed some times in a row: a stream
// that was lost or could not be opened, or questions that waited in vain. It is
// the link alone that is judged; an error reply is an answer.
//
// While it is open, one question at a time is let through as a probe, when the
// back-off allows it and nothing else is on its way. Any answer in time closes it.
type breaker struct {
	failed int // in a row
	open   bool
	heard  time.Duration // when an answer came in time
}

// failure counts one, and reports whether the breaker opens: after so many in a
// row, 0 never.
func (b *breaker) failure(after int) (opens bool) {
	if after == 0 || b.open {
		return false
	}
	b.failed++
	b.open = b.failed >= after
	return b.open
}

// answer takes note of an answer that came in time, and reports whether the
// breaker closes.
func (b *breaker) answer(now time.Duration) (closes bool) {
	closes = b.open
	b.failed, b.open, b.heard = 0, false, now
	return closes
}

// Broken reports whether the breaker is open.
func (l *Link) Broken() bool { return l.breaker.open }

// failed says that the link has failed: the way to Redis, not one command.
func (l *Link) failed() {
	if l.breaker.failure(l.BreakAfter) && l.Broke != nil {
		l.Broke(true)
	}
}

// answeredInTime says that a reply came within its deadline.
func (l *Link) answeredInTime() {
	if l.breaker.answer(l.now) && l.Broke != nil {
		l.Broke(false)
	}
}

// mayProbe says whether a question may be asked though the breaker is open. What
// is on its way already is a probe.
func (l *Link) mayProbe() bool {
	return l.queue.len() == 0 && l.messages == 0 && l.now >= l.backoff.until
}
