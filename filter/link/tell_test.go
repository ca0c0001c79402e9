package link

import "testing"

func TestTell_HasNoDeadline(t *testing.T) {
	r := newRig(t)
	c := r.tell("t")
	r.tick(timeout)
	r.tick(timeout)
	c.expect(t, "before its reply")
	r.receive(reply("t"))
	c.expect(t, "in the end", "answer 0 t", "resume")
}

func TestTell_FailsOnceWhenItsStreamIsLost(t *testing.T) {
	r := newRig(t)
	c := r.tell("t")
	r.tick(1 * ms)
	r.close()
	r.tick(timeout)
	c.expect(t, "c", "fail 0 disconnected", "resume")
}

func TestTell_InsideLate_TravelsInOneMessage(t *testing.T) {
	r := newRig(t)
	var refunds []*caller
	for range 3 {
		c := r.ask("x", "x")
		c.onLate = func() { refunds = append(refunds, r.tell("refund")) }
	}
	r.receive(reply("x", "x")) // the first is answered, the others are sent
	r.tick(timeout)
	r.receive(reply("x", "x", "x", "x"))
	expect(t, "refunds", len(refunds), 4)
	// The last reply frees the way, so the refund told by it finds the others queued.
	r.expectSent(t, "x;x;", "x;x;x;x;", "refund;refund;refund;refund;")
	r.receive(reply("refund", "refund", "refund", "refund"))
	for _, c := range refunds {
		c.expect(t, "a refund", "answer 0 refund", "resume")
	}
}

func TestTell_InsideResume_IsSent(t *testing.T) {
	r := newRig(t)
	var refund *caller
	c := r.ask("a")
	c.onResume = func() { refund = r.tell("refund") }
	r.receive(reply("a"))
	r.expectSent(t, "a;", "refund;")
	r.receive(reply("refund"))
	refund.expect(t, "refund", "answer 0 refund", "resume")
}

func TestLeave_InsideResumeAndLate(t *testing.T) {
	r := newRig(t)
	a, b := r.ask("a"), r.ask("b")
	a.onResume = func() { r.Leave(&b.ticket) }
	r.tick(timeout)
	a.expect(t, "a", "fail 0 timeout", "resume")
	b.expect(t, "b", "fail 0 timeout")
	c := r.ask("c")
	a.onLate = func() { r.Leave(&c.ticket) }
	r.receive(reply("a"))
	r.receive(reply("c"))
	c.expect(t, "c")
}

// The callback that reports a closed stream resumes requests, whose refusals
// tell refunds. However long it takes, no stream is opened from there: the next
// tick does it. (The host of these tests fails if one is.)
func TestTell_OpensNoStream_WhileOneIsBeingClosed(t *testing.T) {
	r := newRig(t)
	var refund *caller
	c := r.ask("a")
	c.onResume = func() {
		r.host.now += 10 * ms // longer than the back-off
		refund = r.tell("refund")
	}
	r.close()
	expect(t, "opens", r.host.opens, 1)
	expect(t, "tick period", r.TickPeriod(), 1)
	r.tick(1 * ms)
	r.expectSent(t, "a;", "refund;")
	r.receive(reply("refund"))
	refund.expect(t, "refund", "answer 0 refund", "resume")
}

func TestStop_SendsWhatWasToldAndFailsAllWhoWait(t *testing.T) {
	r := newRig(t)
	r.warm()
	a, left := r.ask("a"), r.ask("left")
	r.receive(reply("first"))
	r.Leave(&left.ticket)
	queued, told := r.ask("b"), r.tell("t")
	r.Stop()
	r.drain()
	r.expectSent(t, "first;", "a;left;", "t;")
	expectTokens(t, "closed, which loses nothing that was sent", r.host.closed, tokenOf(1))
	expectTokens(t, "cancelled", r.host.cancelled)
	a.expect(t, "a", "fail 0 disconnected", "resume")
	left.expect(t, "who had left")
	queued.expect(t, "b", "fail 0 disconnected", "resume")
	told.expect(t, "t", "fail 0 disconnected", "resume")

	r.receiveOn(tokenOf(1), reply("a"))
	r.closeOn(tokenOf(1))
	for range 100 {
		r.tick(20 * ms)
	}
	r.Stop()
	expect(t, "opens", r.host.opens, 1)
	expect(t, "messages", len(r.host.sent), 3)
	expect(t, "tick period", r.TickPeriod(), 0)
}

func TestStop_OfALinkThatWasNeverOpenedDoesNothing(t *testing.T) {
	r := newRig(t)
	r.Stop()
	expectTokens(t, "cancelled", r.host.cancelled)
	expectTokens(t, "closed", r.host.closed)
	expect(t, "opens", r.host.opens, 0)
}

func TestAbandon_OfALinkWithoutAStreamDoesNothing(t *testing.T) {
	r := newRig(t)
	r.Abandon(Panicked)
	expectTokens(t, "cancelled", r.host.cancelled)
	a := r.ask("a")
	r.receive(reply("a"))
	a.expect(t, "a", "answer 0 a", "resume")
}
