package link

import (
	"fmt"
	"testing"
	"time"
)

func TestDeadline_EndsByTheTickThatFollowsIt(t *testing.T) {
	r := newRig(t)
	c := r.ask("a0", "a1")
	r.tick(timeout - 1)
	c.expect(t, "before the deadline")
	expect(t, "expired before the deadline", c.ticket.Expired(), false)
	r.tick(1)
	c.expect(t, "at the deadline", "fail 0 timeout", "fail 1 timeout", "resume")
	expect(t, "expired at the deadline", c.ticket.Expired(), true)
	r.tick(timeout)
	c.expect(t, "later", "fail 0 timeout", "fail 1 timeout", "resume")
}

func TestDeadline_CountsForEachQuestionFromItsAsking(t *testing.T) {
	r := newRig(t)
	a := r.ask("a")
	r.host.now += 20 * ms
	b := r.ask("b")
	r.tick(30 * ms)
	a.expect(t, "asked first", "fail 0 timeout", "resume")
	b.expect(t, "asked later")
	r.tick(20 * ms)
	b.expect(t, "asked later", "fail 0 timeout", "resume")
}

func TestDeadline_FailsOnlyWhatIsNotAnswered(t *testing.T) {
	r := newRig(t)
	c := r.ask("a0", "a1", "a2")
	r.receive(reply("a0"))
	r.tick(timeout)
	c.expect(t, "c", "answer 0 a0", "fail 1 timeout", "fail 2 timeout", "resume")
	r.receive(reply("a1", "a2"))
	c.expect(t, "c", "answer 0 a0", "fail 1 timeout", "fail 2 timeout", "resume", "late 1 a1", "late 2 a2")
}

func TestDeadline_OfAnAnsweredQuestionIsNone(t *testing.T) {
	r := newRig(t)
	c := r.ask("a")
	r.receive(reply("a"))
	r.tick(timeout)
	c.expect(t, "c", "answer 0 a", "resume")
	expect(t, "expired", c.ticket.Expired(), false)
}

// Timeout and reply in the same moment: one of them counts, once.
func TestG35_Deadline_AndReplyTogetherSettleOnce(t *testing.T) {
	r := newRig(t)
	a := r.ask("a")
	r.host.now += timeout
	r.Tick()
	r.Receive(r.host.live, []byte(reply("a")))
	r.drain()
	a.expect(t, "tick first", "fail 0 timeout", "late 0 a", "resume")

	b := r.ask("b")
	r.host.now += timeout
	r.Receive(r.host.live, []byte(reply("b")))
	r.Tick()
	r.drain()
	b.expect(t, "reply first", "answer 0 b", "resume")
}

func TestDeadline_CommandsNotSentByThenAreNeverSent(t *testing.T) {
	r := newRig(t)
	first := r.warm()
	r.host.now += 10 * ms
	a := r.ask("a0", "a1")
	r.host.now += 20 * ms
	b := r.ask("b")
	r.tick(30 * ms) // a's deadline, but not b's
	first.expect(t, "first", "fail 0 timeout", "resume")
	a.expect(t, "a", "fail 0 timeout", "fail 1 timeout", "resume")
	expect(t, "commands queued", r.queue.len(), 1)
	r.receive(reply("first"))
	r.expectSent(t, "first;", "b;")
	r.receive(reply("b"))
	b.expect(t, "b", "answer 0 b", "resume")
	a.expect(t, "a", "fail 0 timeout", "fail 1 timeout", "resume")
}

// Overdue between two ticks, found out by the reply that sends the queue: only
// the tick ends questions, so that one is sent still and answered in time or late.
func TestDeadline_IsNotLookedAtBetweenTicks(t *testing.T) {
	r := newRig(t)
	r.warm()
	a := r.ask("a")
	r.host.now += timeout + ms
	r.receive(reply("first"))
	r.receive(reply("a"))
	a.expect(t, "a", "answer 0 a", "resume")
}

// A timed-out command may have counted, so a refused caller's charge is given
// back when the reply comes after all, whether or not the client is still there.
func TestLate_TakesAReplyAfterTheDeadlineExactlyOnce(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprint("client left: ", leaves), func(t *testing.T) {
			r := newRig(t)
			c := r.ask("a0", "a1")
			r.tick(timeout)
			if leaves {
				r.Leave(&c.ticket)
			}
			b := r.ask("b")
			r.receive(reply("a0"))
			r.receive(reply("a1"))
			r.receive(reply("b"))
			r.tick(timeout)
			c.expect(t, "c", "fail 0 timeout", "fail 1 timeout", "resume", "late 0 a0", "late 1 a1")
			b.expect(t, "who asked after it", "answer 0 b", "resume")
			expect(t, "opens", r.host.opens, 1)
		})
	}
}

func TestLate_TakesErrorRepliesToo(t *testing.T) {
	r := newRig(t)
	c := r.ask("a")
	r.tick(timeout)
	r.receive("-upstream failure\r\n")
	c.expect(t, "c", "fail 0 timeout", "resume", "late 0 -upstream failure")
}

func TestLate_DoesNotComeForWhatIsLostWithItsStream(t *testing.T) {
	r := newRig(t)
	c := r.ask("a")
	r.tick(timeout)
	r.close()
	r.tick(timeout)
	c.expect(t, "c", "fail 0 timeout", "resume")
}

// The proxy runs what follows of each request nested in the others: at some 270
// in one callback the VM's stack overflows.
func TestResumes_AreAtMost64ACallback_TheRestByTicksOf1ms(t *testing.T) {
	settle := map[string]func(r *rig){
		"answered": func(r *rig) {
			var all string
			for range 900 {
				all += reply("x")
			}
			r.receive(all)
		},
		"overdue": func(r *rig) { r.tick(timeout) },
		"closed":  func(r *rig) { r.close() },
	}
	for name, settle := range settle {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.warm()
			var all []*caller
			for range 900 {
				all = append(all, r.ask("x"))
			}
			r.receive(reply("first"))
			resumed := 0
			for n := 0; ; n++ {
				if n == 0 {
					settle(r)
				} else {
					expect(t, "tick period", r.TickPeriod(), 1)
					r.tick(1 * ms)
				}
				if resumed += r.resumed; resumed == len(all) {
					expect(t, "callbacks", n+1, (900+MaxResumes-1)/MaxResumes)
					break
				}
				expect(t, "resumed in one callback", r.resumed, MaxResumes)
			}
			for _, c := range all {
				expect(t, "calls of Answer or Fail, and Resume", len(c.log), 2)
				expect(t, "the last call", c.log[1], "resume")
			}
			r.tick(stallFactor * timeout) // those overdue are still on the stream
			expect(t, "tick period in the end", r.TickPeriod(), 0)
		})
	}
}

func TestResumes_OfThoseWhoLeftTakeNoPlace(t *testing.T) {
	r := newRig(t)
	r.warm()
	var all []*caller
	for range 1000 {
		all = append(all, r.ask("x"))
	}
	last := r.ask("last")
	r.receive(reply("first"))
	r.host.now += timeout
	r.Tick()
	for _, c := range all {
		r.Leave(&c.ticket)
	}
	r.drain()
	last.expect(t, "the one who stayed", "fail 0 timeout", "resume")
}

// The tick costs the worker, so it runs only while something waits.
func TestTickPeriod_FollowsWhatWaits(t *testing.T) {
	r := newRig(t)
	step := func(what string, want uint32, do func()) {
		t.Helper()
		do()
		expect(t, "tick period when "+what, r.TickPeriod(), want)
	}
	var a, b *caller
	step("nothing was asked", 0, func() {})
	step("a question waits", 5, func() { a = r.ask("a") })
	step("it was answered, until the next tick", 5, func() { r.receive(reply("a")) })
	step("the tick has seen that", 0, func() { r.tick(5 * ms) })
	step("a command is told", 5, func() { r.tell("t") })
	step("its reply has not come", 5, func() { r.tick(100 * ms) })
	step("its reply came", 0, func() { r.receive(reply("t")) })
	step("a question waits", 5, func() { b = r.ask("b") })
	step("it left, until its reply", 5, func() { r.Leave(&b.ticket); r.tick(5 * ms) })
	step("its reply came", 0, func() { r.receive(reply("b")) })
	step("an overdue question is answered", 5, func() { r.ask("c"); r.tick(timeout) })
	step("its late reply came", 0, func() { r.receive(reply("c")) })
	step("commands wait for a stream", 1, func() { r.close(); r.ask("d") })
	step("there is a stream", 5, func() { r.tick(2 * ms) })
	step("the stream is closed", 5, func() { r.close() }) // d has failed; its ticket goes with the next tick
	step("all is over", 0, func() { r.tick(5 * ms) })
	a.expect(t, "a", "answer 0 a", "resume")
}

func TestTickPeriod_Is0InTheEnd_WhateverTheServerDoes(t *testing.T) {
	for _, test := range []struct {
		name   string
		noWay  bool
		hangUp bool
	}{
		{name: "answers nothing"},
		{name: "cannot be reached", noWay: true},
		{name: "hangs up", hangUp: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.host.noWay = test.noWay
			c, left, told := r.ask("a"), r.ask("b"), r.tell("t")
			r.Leave(&left.ticket)
			for n := 0; r.TickPeriod() > 0; n++ {
				if n == 1000 {
					t.Fatal("the tick never ends")
				}
				r.tick(time.Duration(r.TickPeriod()) * ms)
				if test.hangUp && r.host.live != 0 {
					r.close()
				}
			}
			expect(t, "calls of the question", len(c.log), 2)
			expect(t, "calls of what was told", len(told.log), 2)
			expect(t, "calls of the one who left", len(left.log), 0)
		})
	}
}

func TestWaited_IsTheTimeFromTheAskingToTheDecision(t *testing.T) {
	r := newRig(t)
	a := r.ask("a")
	r.host.now += 3 * ms
	r.Receive(r.host.live, []byte(reply("a")))
	expect(t, "answered", r.Waited(&a.ticket), 3*ms)

	b := r.ask("b")
	r.host.now += timeout + 4*ms
	r.Tick()
	expect(t, "overdue", r.Waited(&b.ticket), timeout+4*ms)
	r.receive(reply("b"))

	c := r.ask("c")
	r.host.now += 7 * ms
	r.Closed(r.host.live)
	expect(t, "closed", r.Waited(&c.ticket), 7*ms)
}
