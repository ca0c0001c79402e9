package link

import "testing"

// hold asks with one command, and asks a second one when the reply is in.
func (r *rig) hold(first, second string) *caller {
	r.t.Helper()
	c := r.newCaller()
	c.onResume = func() {
		c.onResume = nil
		if f := r.Again(&c.ticket); f != None {
			c.note("again %v", f)
			r.Leave(&c.ticket)
			return
		}
		r.Add(&c.ticket, 1, command(second))
		r.Commit(&c.ticket)
	}
	if f := r.Begin(&c.ticket, c); f != None {
		r.t.Fatalf("asking %s was refused: %v", first, f)
	}
	r.Add(&c.ticket, 0, command(first))
	r.Hold(&c.ticket)
	r.Commit(&c.ticket)
	return c
}

func TestAgain_AsksASecondQuestion(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.receive(reply("a"))
	r.expectSent(t, "a;", "b;")
	r.tick(20 * ms) // a ticket that has its first answer is not let go
	r.receive(reply("b"))
	c.expect(t, "c", "answer 0 a", "resume", "answer 1 b", "resume")
	r.tick(timeout)
	expect(t, "waiting", r.Waiting(), 0)
	expect(t, "tick", r.TickPeriod(), 0)
}

func TestAgain_HasTheDeadlineOfTheFirst(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.tick(30 * ms)
	r.receive(reply("a"))
	r.tick(19 * ms)
	c.expect(t, "before the deadline", "answer 0 a", "resume")
	r.tick(1 * ms)
	c.expect(t, "at the deadline", "answer 0 a", "resume", "fail 1 timeout", "resume")
	r.receive(reply("b"))
	c.expect(t, "later", "answer 0 a", "resume", "fail 1 timeout", "resume", "late 1 b")
}

// Where many are let go at once, ticks come between a reply and its Resume.
func TestAgain_KeepsItsPlaceOverTicks(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.Receive(r.host.live, []byte(reply("a")))
	for range 3 {
		r.host.now += 5 * ms
		r.Tick()
	}
	r.drain()
	r.tick(5 * ms)
	r.receive(reply("b"))
	c.expect(t, "c", "answer 0 a", "resume", "answer 1 b", "resume")
}

// Where many are let go at once, the deadline can pass between a reply and its
// Resume.
func TestAgain_AfterTheDeadlineIsRefused(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.host.now += timeout
	r.Receive(r.host.live, []byte(reply("a")))
	r.Tick()
	r.drain()
	c.expect(t, "c", "answer 0 a", "resume", "again timeout")
	r.expectSent(t, "a;")
	expect(t, "waiting", r.Waiting(), 0)
}

// A reply may come after the deadline and before the tick that notices it.
func TestAgain_AfterTheDeadlineIsRefusedBeforeATickHasNoticed(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.host.now += timeout
	r.receive(reply("a"))
	c.expect(t, "c", "answer 0 a", "resume", "again timeout")
	r.expectSent(t, "a;")
}

func TestAgain_OnALostStreamWaitsForATick(t *testing.T) {
	r := newRig(t)
	c := r.hold("a", "b")
	r.Receive(r.host.live, []byte(reply("a"))) // not drained yet
	r.close()                                  // the fake proxy fails the test if a stream is opened here
	expect(t, "opened", r.host.opens, 1)
	r.tick(5 * ms)
	r.receive(reply("b"))
	c.expect(t, "c", "answer 0 a", "resume", "answer 1 b", "resume")
}

func TestAgain_LeaveLetsTheTicketGo(t *testing.T) {
	r := newRig(t)
	c := r.newCaller()
	c.onResume = func() { r.Leave(&c.ticket) }
	r.Begin(&c.ticket, c)
	r.Add(&c.ticket, 0, command("a"))
	r.Hold(&c.ticket)
	r.Commit(&c.ticket)
	r.receive(reply("a"))
	r.tick(5 * ms)
	expect(t, "waiting", r.Waiting(), 0)
	expect(t, "tick", r.TickPeriod(), 0)
}
