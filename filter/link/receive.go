package link

import "routelimit/resp"

// Receive takes what came on a stream. Call Drain afterwards.
func (l *Link) Receive(token uint32, chunk []byte) {
	if !l.open || token != l.token {
		return // of a stream that was given up
	}
	l.now = l.host.Now()
	l.decoder.Write(chunk)
	answered := false
	for l.flight.len() > 0 {
		reply, err := l.decoder.Next()
		if err == resp.ErrShort {
			break
		}
		if err != nil || l.surplus(1) {
			l.Abandon(BadReply)
			return
		}
		l.heardAt = l.now
		s := l.flight.pop()
		if s.greeting {
			if !l.welcome(s, reply) {
				return
			}
			continue // which says nothing about answers
		}
		if l.deliver(s, reply) != nil {
			l.Abandon(BadReply)
			return
		}
		answered = answered || reply.Kind != resp.Error
	}
	if l.surplus(0) {
		l.Abandon(BadReply)
		return
	}
	if answered {
		// Not by errors alone: a server that can only complain before it hangs
		// up is not one to come back to at once.
		l.backoff.succeeded()
	}
	if l.renewal.due && l.flight.len() == 0 {
		l.host.Cancel(l.token)
		l.closed()
		return // a request, or the next tick, opens the next one
	}
	l.flush()
}

// surplus says whether more came than is awaited, when awaited replies are not
// taken yet. One reply too many means that any of those before it may have been
// that one.
func (l *Link) surplus(awaited int) bool {
	return l.flight.len() == awaited && l.decoder.Buffered() > 0
}

// deliver hands one reply to who asked for it.
func (l *Link) deliver(s slot, reply resp.Value) error {
	t := s.ticket
	if t.deadline > l.now {
		l.answeredInTime()
	}
	if reply.Kind == resp.Error && !s.resent && !t.unwanted() && resp.ClassifyError(reply.Text) == resp.NoScript {
		l.resend(s)
		l.answered(s)
		return nil
	}
	l.answered(s)
	switch {
	case t.expired:
		t.waiter.Late(s.index, reply)
	case !t.gone:
		err := t.waiter.Answer(s.index, reply)
		l.settle(t, s.index)
		return err
	}
	return nil
}

// Closed takes the news that the other end has closed a stream. Call Drain
// afterwards.
func (l *Link) Closed(token uint32) {
	if !l.open || token != l.token {
		return // never told to us, or given up before
	}
	l.ended = token
	l.lost(Disconnected)
}

// Abandon gives up the stream and fails all who wait for a reply on it.
func (l *Link) Abandon(why Failure) {
	if !l.open {
		return // and so nothing is in flight
	}
	l.host.Cancel(l.token)
	l.lost(why)
}

// free lets the proxy forget a stream that the other end has closed, which it
// would keep for as long as the plugin context lives. Not in the callback that
// reports it: Envoy 1.36.4 crashes where the answer to that stream had not begun.
// And not after the next one is opened, which may stand in its memory by then.
func (l *Link) free() {
	if l.ended != 0 {
		l.host.Cancel(l.ended)
		l.ended = 0
	}
}

// lost ends the state of a stream. What was not sent yet stays queued: a later
// request or tick opens the next stream. Opening it here would spin as fast as
// the proxy can refuse.
func (l *Link) lost(why Failure) {
	l.now = l.host.Now()
	l.closed()
	l.backoff.failed(l.now, l.MaxDelay)
	if why != Panicked && why != Rejected { // which are no faults of the link
		l.failed()
	}
	l.failAll(&l.flight, why)
}

// closed forgets the stream.
func (l *Link) closed() {
	l.open, l.token, l.messages = false, 0, 0
	l.renewal.due = false
	l.decoder.Reset()
}

// failQueue fails what was not sent.
func (l *Link) failQueue(why Failure) {
	l.filling.bytes = l.filling.bytes[:0]
	l.failAll(&l.queue, why)
}

// failAll empties q before it fails anybody: even if a waiter panics, nothing of
// it may be left to meet the replies of the next stream.
func (l *Link) failAll(q *fifo[slot], why Failure) {
	failing := *q
	*q = fifo[slot]{}
	for failing.len() > 0 {
		s := failing.pop()
		if s.greeting {
			continue
		}
		l.fail(s.ticket, s.index, why)
	}
}

func (l *Link) fail(t *Ticket, i int, why Failure) {
	if t.unwanted() {
		return
	}
	t.waiter.Fail(i, why)
	l.settle(t, i)
}

// settle takes command i of t as done.
func (l *Link) settle(t *Ticket, i int) {
	t.awaited &^= 1 << i
	if t.awaited == 0 {
		l.ready.push(t)
	}
}
