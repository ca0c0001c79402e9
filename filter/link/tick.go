package link

// Tick ends what is overdue and opens the stream again where commands wait for
// it. Call Drain afterwards.
func (l *Link) Tick() {
	l.now = l.host.Now()
	for l.waiting.len() > 0 {
		t := *l.waiting.peek()
		open := t.awaited != 0 && !t.gone
		if open && t.deadline > l.now {
			break
		}
		l.waiting.pop()
		if open {
			l.expire(t)
		}
	}
	if l.flight.len() > 0 && l.now-l.heardAt >= stallFactor*l.timeout {
		l.Abandon(Timeout)
	}
	if l.refuses() == Disconnected {
		l.failQueue(Disconnected) // rather than wait for a deadline that comes first
	}
	l.drop() // also while a message is on its way: the queue is bounded
	l.flush()
}

// expire fails what t still awaits. Commands that were sent keep their slots, the
// others are not sent any more.
func (l *Link) expire(t *Ticket) {
	why := Timeout
	if !l.open {
		why = Disconnected
	}
	for i := range t.commands {
		if t.awaited&(1<<i) != 0 {
			t.waiter.Fail(i, why)
		}
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
	case l.queue.len() > 0 && !l.open:
		return tickReady
	case l.waiting.len() > 0 || l.flight.len() > 0:
		return tickWaiting
	}
	return tickIdle
}

// Waiting is how many questions are open; answered ones count until the next Tick.
func (l *Link) Waiting() int { return l.waiting.len() }

// Stop gives up the stream and fails all who wait, for a plugin context that ends.
func (l *Link) Stop() {
	l.Abandon(Disconnected)
	l.failQueue(Disconnected)
}
