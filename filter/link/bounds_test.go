package link

import (
	"strings"
	"testing"
	"time"
)

// Sends never fail and the proxy buffers without bound, so the queue has one.
func TestQueue_IsBounded_AndRecovers(t *testing.T) {
	fill := func(t *testing.T) (r *rig, all []*caller) {
		r = newRig(t)
		r.warm()
		for range MaxQueued {
			all = append(all, r.ask("x"))
		}
		expect(t, "asking beyond the bound", r.tryAsk(r.newCaller(), "y"), Overload)
		expect(t, "telling beyond the bound", r.Tell(r.newCaller(), command("y")), Overload)
		expect(t, "commands queued", r.queue.len(), MaxQueued)
		return r, all
	}
	recovered := func(t *testing.T, r *rig) {
		t.Helper()
		for r.ready.len() > 0 {
			r.tick(1 * ms)
		}
		c := r.ask("c")
		r.receive(reply("c"))
		c.expect(t, "who asks next", "answer 0 c", "resume")
	}
	t.Run("by replies", func(t *testing.T) {
		r, _ := fill(t)
		r.receive(reply("first"))
		r.receive(strings.Repeat(reply("x"), MaxQueued))
		recovered(t, r)
	})
	t.Run("by deadlines", func(t *testing.T) {
		r, all := fill(t)
		r.tick(timeout)
		r.receive(reply("first"))
		recovered(t, r)
		all[0].expect(t, "the first of the queue", "fail 0 timeout", "resume")
		all[MaxQueued-1].expect(t, "the last of the queue", "fail 0 timeout", "resume")
		expect(t, "messages", len(r.host.sent), 2)
	})
	t.Run("by clients that leave", func(t *testing.T) {
		r, all := fill(t)
		for _, c := range all {
			r.Leave(&c.ticket)
		}
		r.tick(5 * ms)
		r.receive(reply("first"))
		recovered(t, r)
	})
	t.Run("by a stream that closes", func(t *testing.T) {
		r, all := fill(t)
		r.close()
		r.tick(5 * ms)
		expect(t, "messages", len(r.host.sent), 2)
		r.receive(strings.Repeat(reply("x"), MaxQueued))
		recovered(t, r)
		all[MaxQueued-1].expect(t, "the last of the queue", "answer 0 x", "resume")
	})
	t.Run("by giving up while there is no way", func(t *testing.T) {
		r := newRig(t)
		r.host.noWay = true
		for r.Tell(r.newCaller(), command("t")) == None {
		}
		for r.host.now < time.Hour+time.Minute && r.TickPeriod() > 0 {
			r.tick(time.Duration(r.TickPeriod()) * ms)
		}
		expect(t, "commands queued", r.queue.len(), 0)
		r.host.noWay = false
		r.host.now += DefaultMaxDelay
		recovered(t, r)
	})
}

// 10,000 clients that connect and leave, while the queue is full, must not cost
// more than a pass over it for each message.
func TestQueue_DropsInOnePass(t *testing.T) {
	r := newRig(t)
	r.warm()
	var all []*caller
	for range MaxQueued {
		all = append(all, r.ask("x"))
	}
	for i, c := range all {
		if i%2 == 0 {
			r.Leave(&c.ticket)
		}
	}
	moves := testing.AllocsPerRun(1, func() {
		r.dropped = true
		r.Tick()
	})
	expect(t, "allocations", moves, 0)
	expect(t, "another pass is due", r.dropped, false)
	expect(t, "commands queued", r.queue.len(), MaxQueued/2)
	r.receive(reply("first"))
	expect(t, "the message", r.host.sent[1], strings.Repeat("x;", MaxQueued/2))
}

// A command without a place in the question fails at once: it must neither
// pass for answered nor end the question twice.
func TestAdd_BeyondMaxCommandsFails(t *testing.T) {
	r := newRig(t)
	names := make([]string, MaxCommands+2)
	for i := range names {
		names[i] = "x"
	}
	c := r.ask(names...)
	c.expect(t, "at once", "fail 64 overload", "fail 65 overload")
	c.log = nil
	r.expectSent(t, strings.Repeat("x;", MaxCommands))
	r.receive(strings.Repeat(reply("x"), MaxCommands-1))
	expect(t, "calls before the last reply", len(c.log), MaxCommands-1)
	r.receive(reply("x"))
	expect(t, "calls", len(c.log), MaxCommands+1)
	expect(t, "the last call", c.log[MaxCommands], "resume")

	d := r.ask(names...)
	d.log = nil
	r.tick(timeout)
	expect(t, "calls at the deadline", len(d.log), MaxCommands+1)
	expect(t, "the last call", d.log[MaxCommands], "resume")
}

// Nothing would ever come for a question without a command, so it must not wait.
func TestCommit_WithoutCommandsIsResumed(t *testing.T) {
	r := newRig(t)
	c := r.ask()
	c.expect(t, "at once")
	expect(t, "tick period", r.TickPeriod(), 1)
	r.tick(1 * ms)
	c.expect(t, "c", "resume")
	r.tick(timeout)
	c.expect(t, "c", "resume")
	expect(t, "tick period", r.TickPeriod(), 0)
}

func TestFailure_NamesAreThoseOfTheMetrics(t *testing.T) {
	for f, want := range map[Failure]string{
		None: "none", Timeout: "timeout", Disconnected: "disconnected",
		BadReply: "bad_reply", Overload: "overload", Panicked: "panic",
	} {
		expect(t, "name", f.String(), want)
	}
}
