package link

import (
	"fmt"
	"testing"
)

// A stream opened at the configuration, or by a tick with nothing to ask, is a
// Redis connection for nothing in every VM of the main thread.
func TestOpen_WaitsForTheFirstRequest(t *testing.T) {
	r := newRig(t)
	for range 100 {
		r.tick(5 * ms)
	}
	expect(t, "opens before anybody asks", r.host.opens, 0)
	expect(t, "tick period before anybody asks", r.TickPeriod(), 0)

	r.ask("a")
	expect(t, "opens after the first question", r.host.opens, 1)

	r.receive(reply("a"))
	for range 1000 {
		r.ask("b")
		r.receive(reply("b"))
	}
	expect(t, "opens after a thousand more", r.host.opens, 1)
}

func TestOpen_IsNotMadeByATickWhoseCommandsNobodyWantsAnyMore(t *testing.T) {
	r := newRig(t)
	r.host.noWay = true
	c := r.ask("a")
	r.host.noWay = false
	r.Leave(&c.ticket)
	r.tick(20 * ms)
	expect(t, "opens", r.host.opens, 1)
	expect(t, "tick period", r.TickPeriod(), 0)
}

// During an update the old and the new plugin context live in one VM: nothing
// of a link may be shared.
func TestLinks_AreIndependentOfOneAnother(t *testing.T) {
	before, after := newRig(t), newRig(t)
	a, b := before.ask("a"), after.ask("b")
	before.close()
	after.receive(reply("b"))
	a.expect(t, "before", "fail 0 disconnected", "resume")
	b.expect(t, "after", "answer 0 b", "resume")
	expect(t, "back-off of the new link", after.backoff.delay, 0)
}

// 10,000 queued DATA frames trip the proxy's flood guard, and a message for each
// command costs: all commands of a question, and all questions that come while
// an answer is awaited, travel in one message.
func TestMessages_CarryAllThatQueuedWhileOneWasOnItsWay(t *testing.T) {
	r := newRig(t)
	var sizes []int
	r.Sent = func(commands int) { sizes = append(sizes, commands) }

	r.ask("a", "b", "c")
	r.expectSent(t, "a;b;c;")
	r.ask("d")
	r.ask("e", "f")
	r.expectSent(t, "a;b;c;")
	r.receive(reply("a", "b"))
	r.expectSent(t, "a;b;c;") // the message is not answered whole
	r.receive(reply("c"))
	r.expectSent(t, "a;b;c;", "d;e;f;")
	r.receive(reply("d", "e", "f"))
	r.expectSent(t, "a;b;c;", "d;e;f;")
	r.ask("g")
	r.expectSent(t, "a;b;c;", "d;e;f;", "g;")

	expect(t, "sizes told to Sent", fmt.Sprint(sizes), "[3 3 1]")
}

func TestMessages_OfTenThousandCommandsAreOne(t *testing.T) {
	r := newRig(t)
	r.warm()
	for range 10_000 {
		r.ask("x")
	}
	r.receive(reply("first"))
	expect(t, "messages", len(r.host.sent), 2)
	expect(t, "bytes of the second", len(r.host.sent[1]), 2*10_000)
}

// A message must not be changed by what is asked while it is on its way.
func TestMessages_DoNotShareMemory(t *testing.T) {
	r := newRig(t)
	for i := range 50 {
		a := r.ask(fmt.Sprint("a", i), "b")
		b := r.ask(fmt.Sprint("c", i))
		r.receive("-NOSCRIPT No matching script.\r\n" + reply("b"))
		last := r.host.sent[len(r.host.sent)-1]
		expect(t, "the next message", last, fmt.Sprintf("c%d;FULL a%d;", i, i))
		r.receive(reply(fmt.Sprint("c", i), "full"))
		a.expect(t, "a", "answer 1 b", "answer 0 full", "resume")
		b.expect(t, "c", fmt.Sprint("answer 0 c", i), "resume")
	}
}

func TestReplies_ReachWhoAsked_InTheOrderOfTheCommands(t *testing.T) {
	r := newRig(t)
	a := r.ask("a0", "a1")
	b := r.ask("b0")
	c := r.ask("c0", "c1")
	r.receive(reply("a0", "a1"))
	r.receive(reply("b0", "c0", "c1"))
	a.expect(t, "a", "answer 0 a0", "answer 1 a1", "resume")
	b.expect(t, "b", "answer 0 b0", "resume")
	c.expect(t, "c", "answer 0 c0", "answer 1 c1", "resume")
}

func TestReplies_OfAllKindsReachTheirWaiters(t *testing.T) {
	for _, test := range []struct{ name, wire, want string }{
		{"integer", ":-7\r\n", "-7"},
		{"simple string", "+OK\r\n", "OK"},
		{"bulk string", "$3\r\nabc\r\n", "abc"},
		{"array", "*2\r\n:1\r\n:2\r\n", "array of 2"},
		// An error reply concerns one key, not the stream.
		{"error", "-READONLY You can't write against a read only replica.\r\n", "-READONLY You can't write against a read only replica."},
		{"error of redis_proxy", "-upstream failure\r\n", "-upstream failure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			a, b := r.ask("a"), r.ask("b")
			r.receive(test.wire)
			r.receive(reply("b"))
			a.expect(t, "a", "answer 0 "+test.want, "resume")
			b.expect(t, "b", "answer 0 b", "resume")
		})
	}
}

// Chunks end anywhere, and a stream carries more than one message's replies.
func TestReplies_MayBeCutAtEveryByte(t *testing.T) {
	wire := reply("a0") + "*2\r\n:1\r\n$2\r\nxy\r\n" + "-ERR no\r\n" + ":42\r\n"
	want := []string{"answer 0 a0", "answer 1 array of 2", "answer 2 -ERR no", "answer 3 42", "resume"}
	run := func(t *testing.T, chunks ...string) {
		t.Helper()
		r := newRig(t)
		c := r.ask("a0", "a1", "a2", "a3")
		for _, chunk := range chunks {
			r.receive(chunk)
		}
		c.expect(t, fmt.Sprintf("%q", chunks), want...)
		d := r.ask("d")
		r.receive(reply("d"))
		d.expect(t, "the next question", "answer 0 d", "resume")
		expect(t, "opens", r.host.opens, 1)
	}
	for i := range len(wire) + 1 {
		run(t, wire[:i], wire[i:])
		for j := i; j <= len(wire); j++ {
			run(t, wire[:i], wire[i:j], wire[j:])
		}
	}
	var bytes []string
	for i := range wire {
		bytes = append(bytes, wire[i:i+1])
	}
	run(t, bytes...)
}

// The order of the replies is all that relates them to commands: who has left
// keeps the place of what was sent.
func TestG35_Leave_AfterSendingKeepsThePlaceAndSkipsTheReply(t *testing.T) {
	r := newRig(t)
	r.warm()
	a, b, c := r.ask("a0", "a1"), r.ask("b0", "b1"), r.ask("c0")
	r.receive(reply("first"))
	r.expectSent(t, "first;", "a0;a1;b0;b1;c0;")

	r.receive(reply("a0", "a1", "b0"))
	r.Leave(&b.ticket)
	r.receive(reply("b1", "c0"))
	a.expect(t, "a", "answer 0 a0", "answer 1 a1", "resume")
	b.expect(t, "b", "answer 0 b0")
	c.expect(t, "c", "answer 0 c0", "resume")
}

func TestG35_Leave_BeforeSendingSendsNothing(t *testing.T) {
	r := newRig(t)
	r.warm()
	a, b, c := r.ask("a0", "a1"), r.ask("b0", "b1"), r.ask("c0")
	r.Leave(&b.ticket)
	r.receive(reply("first"))
	r.expectSent(t, "first;", "a0;a1;c0;")
	r.receive(reply("a0", "a1", "c0"))
	a.expect(t, "a", "answer 0 a0", "answer 1 a1", "resume")
	b.expect(t, "b")
	c.expect(t, "c", "answer 0 c0", "resume")
}

func TestG35_Leave_OfAllWhoQueueLeavesNoMessageToSend(t *testing.T) {
	r := newRig(t)
	r.warm()
	a, b := r.ask("a"), r.ask("b")
	r.Leave(&a.ticket)
	r.Leave(&b.ticket)
	r.receive(reply("first"))
	r.expectSent(t, "first;")
	c := r.ask("c")
	r.expectSent(t, "first;", "c;")
	r.receive(reply("c"))
	c.expect(t, "c", "answer 0 c", "resume")
}

func TestG35_Leave_IsHeard_WheneverItComes(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(r *rig, c *caller)
		want []string
	}{
		{"answered, not resumed", func(r *rig, c *caller) {
			r.Receive(r.host.live, []byte(reply("a")))
			r.Leave(&c.ticket)
		}, []string{"answer 0 a"}},
		{"expired, not resumed", func(r *rig, c *caller) {
			r.host.now += timeout
			r.Tick()
			r.Leave(&c.ticket)
		}, []string{"fail 0 timeout"}},
		{"failed, not resumed", func(r *rig, c *caller) {
			r.Closed(r.host.live)
			r.Leave(&c.ticket)
		}, []string{"fail 0 disconnected"}},
		{"left, then closed", func(r *rig, c *caller) {
			r.Leave(&c.ticket)
			r.close()
		}, nil},
		{"left, then overdue", func(r *rig, c *caller) {
			r.Leave(&c.ticket)
			r.tick(timeout)
		}, nil},
		{"twice", func(r *rig, c *caller) {
			r.Leave(&c.ticket)
			r.Leave(&c.ticket)
			r.receive(reply("a"))
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			c := r.ask("a")
			test.run(r, c)
			for range 100 {
				r.tick(5 * ms)
			}
			c.expect(t, "the one who left", test.want...)
			expect(t, "tick period", r.TickPeriod(), 0)
		})
	}
}

// Requests that are over must not be kept in memory.
func TestG35_TenThousandWhoLeft_AreForgotten(t *testing.T) {
	r := newRig(t)
	r.warm()
	for range 10_000 {
		c := r.ask("x")
		r.Leave(&c.ticket)
	}
	r.tick(5 * ms)
	expect(t, "commands still queued", r.queue.len(), 0)
	expect(t, "bytes still queued", len(r.filling.bytes), 0)
	r.receive(reply("first"))
	r.tick(5 * ms)
	expect(t, "questions still kept", r.Waiting(), 0)
	expect(t, "tick period", r.TickPeriod(), 0)
	for name, q := range map[string][]slot{"queue": r.queue.items, "flight": r.flight.items} {
		for _, s := range q[:cap(q)] {
			if s.ticket != nil {
				t.Fatalf("the %s still holds on to a question", name)
			}
		}
	}
	for _, ticket := range r.waiting.items[:cap(r.waiting.items)] {
		if ticket != nil {
			t.Fatal("the questions that waited are still held on to")
		}
	}
}
