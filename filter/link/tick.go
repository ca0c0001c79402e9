package link

import "math/bits"

// Tick ends what is overdue and opens the stream again where commands wait for
// it. Call Drain afterwards.
func (l *Link) Tick() {
	l.now = l.host.Now()
	inVain := false
	for l.waiting.len() > 0 {
		t := *l.waiting.peek()
		open := t.awaited != 0 && !t.gone
		if (open || t.held && !t.gone) && t.deadline > l.now {
			break
		}
		l.waiting.pop()
		t.held = false
		if open {
			inVain = inVain || l.breaker.heard < l.Asked(t) && (l.open || !l.rejected)
			l.expire(t, l.overdue())
		}
	}
	if inVain {
		l.failed()
	}
	if l.flight.len() > 0 && l.now-l.heardAt >= stallFactor*l.timeout {
		l.Abandon(Timeout)
	}
	if f := l.refuses(); !l.open && (f == Disconnected || f == Rejected || f == BreakerOpen) {
		l.failQueue(f) // rather than wait for a deadline that comes first
	}
	l.drop() // also while a message is on its way: the queue is bounded
	l.flush()
}

// overdue is why no reply came in time.
func (l *Link) overdue() Failure {
	if l.open {
		return Timeout
	}
	return l.unconnected()
}

// expire fails what t still awaits. Commands that were sent keep their slots, the
// others are not sent any more.
func (l *Link) expire(t *Ticket, why Failure) {
	for awaited := t.awaited; awaited != 0; awaited &= awaited - 1 {
		t.waiter.Fail(bits.TrailingZeros64(awaited), why)
	}
	t.expired, t.awaited = true, 0
	l.dropped = true
	l.ready.push(t)
}

// Drain resumes requests that have all they waited for, at most MaxResumes.
func (l *Link) Drain() {
	for n := 0; n < MaxResumes && l.ready.len() > 0; {
		if t := l.ready.pop(); !t.gone {
			n++
			t.waiter.Resume()
		}
	}
}

// TickPeriod is after how many milliseconds the link needs its next Tick; 0 means
// that it needs none.
func (l *Link) TickPeriod() uint32 {
	switch {
	case l.ready.len() > 0:
		return tickReady
	case l.queue.len() > 0 && l.messages == 0:
		return tickReady
	case l.waiting.len() > 0 || l.flight.len() > 0:
		return tickWaiting
	}
	return tickIdle
}

// Waiting is how many questions are open; answered ones count until the next Tick.
func (l *Link) Waiting() int { return l.waiting.len() }

// Stop fails all who wait, for a plugin context that ends. What was told and not
// sent yet is sent, and the stream closed behind it; nobody hears any more what
// becomes of it.
func (l *Link) Stop() {
	l.now = l.host.Now()
	for l.waiting.len() > 0 {
		if t := l.waiting.pop(); t.awaited != 0 && !t.gone {
			l.expire(t, Disconnected)
		}
	}
	l.drop()
	l.free()
	if l.open {
		if l.queue.len() > 0 && !l.greets() {
			l.send()
		}
		l.host.Close(l.token)
		l.closed()
	}
	l.failAll(&l.flight, Disconnected)
	l.failQueue(Disconnected)
}
