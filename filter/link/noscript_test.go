package link

import (
	"strings"
	"testing"
)

const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"

func TestG23_NoScript_IsSentAgainOnceInFull(t *testing.T) {
	r := newRig(t)
	resent := 0
	r.Resent = func() { resent++ }
	c := r.ask("a0", "a1", "a2")
	r.receive(reply("a0") + noScript + reply("a2"))
	r.expectSent(t, "a0;a1;a2;", "FULL a1;")
	c.expect(t, "before the second reply", "answer 0 a0", "answer 2 a2")
	r.receive(reply("a1"))
	c.expect(t, "in the end", "answer 0 a0", "answer 2 a2", "answer 1 a1", "resume")
	expect(t, "calls of Resent", resent, 1)
}

func TestG23_NoScript_ForEver_IsAnErrorReply(t *testing.T) {
	r := newRig(t)
	c := r.ask("a")
	r.receive(noScript)
	r.receive(noScript)
	c.expect(t, "c", "answer 0 "+strings.TrimSpace(noScript), "resume")
	r.expectSent(t, "a;", "FULL a;")
}

func TestG23_NoScript_OfAHundredAtOnce(t *testing.T) {
	r := newRig(t)
	r.warm()
	var all []*caller
	for range 100 {
		all = append(all, r.ask("x"))
	}
	r.receive(reply("first"))
	r.receive(strings.Repeat(noScript, 100))
	expect(t, "messages", len(r.host.sent), 3)
	expect(t, "the last message", r.host.sent[2], strings.Repeat("FULL x;", 100))
	r.receive(strings.Repeat(reply("x"), 100))
	r.tick(1 * ms)
	for _, c := range all {
		c.expect(t, "each", "answer 0 x", "resume")
	}
}

func TestG23_NoScript_OfATellIsSentAgainToo(t *testing.T) {
	r := newRig(t)
	r.warm()
	r.receive(reply("first"))
	c := r.tell("t")
	r.receive(noScript)
	r.expectSent(t, "first;", "t;", "FULL t;")
	r.receive(reply("t"))
	c.expect(t, "t", "answer 0 t", "resume")
}

// A timed-out command is never sent again, in whatever form.
func TestNoScript_IsNotSentAgainForWhoHasGone(t *testing.T) {
	for _, test := range []struct {
		name string
		gone func(r *rig, c *caller)
		want []string
	}{
		{"expired", func(r *rig, c *caller) { r.tick(timeout) }, []string{"fail 0 timeout", "resume", "late 0 " + strings.TrimSpace(noScript)}},
		{"left", func(r *rig, c *caller) { r.Leave(&c.ticket) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			c := r.ask("a")
			test.gone(r, c)
			r.tick(5 * ms)
			r.receive(noScript)
			r.expectSent(t, "a;")
			c.expect(t, "c", test.want...)
		})
	}
}

func TestNoScript_QueuedAgainIsNotSentForWhoGoesMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name string
		gone func(r *rig, c *caller)
		want []string
	}{
		{"expired", func(r *rig, c *caller) { r.tick(timeout) }, []string{"fail 0 timeout", "fail 1 timeout", "resume", "late 1 b"}},
		{"left", func(r *rig, c *caller) { r.Leave(&c.ticket) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			c, told := r.ask("a", "b"), r.tell("t")
			r.receive(noScript)
			expect(t, "commands queued, a among them", r.queue.len(), 2)
			test.gone(r, c)
			r.receive(reply("b"))
			r.expectSent(t, "a;b;", "t;")
			r.receive(reply("t"))
			told.expect(t, "what was told", "answer 0 t", "resume")
			c.expect(t, "c", test.want...)
		})
	}
}

// What a server refused for want of the script was not carried out, so it may
// be sent on the next stream, unlike all else that was sent.
func TestNoScript_QueuedAgainSurvivesTheStream(t *testing.T) {
	r := newRig(t)
	c := r.ask("a0", "a1")
	r.receive(noScript)
	r.close()
	c.expect(t, "after the close", "fail 1 disconnected")
	r.tick(5 * ms)
	r.expectSent(t, "a0;a1;", "FULL a0;")
	r.receive(reply("a0"))
	c.expect(t, "in the end", "fail 1 disconnected", "answer 0 a0", "resume")
}

func TestNoScript_AgainAfterTheStreamIsLost_IsAnErrorReply(t *testing.T) {
	r := newRig(t)
	c := r.ask("a0", "a1")
	r.receive(noScript)
	r.close()
	r.tick(5 * ms)
	r.receive(noScript)
	c.expect(t, "c", "fail 1 disconnected", "answer 0 "+strings.TrimSpace(noScript), "resume")
}
