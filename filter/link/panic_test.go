package link

import "testing"

// Every export recovers, so a panic must leave the link such that nobody waits
// for ever and nobody gets another's reply.
func TestPanic_LeavesTheLinkInOrder(t *testing.T) {
	recovered := func(r *rig, do func()) {
		defer func() {
			if recover() == nil {
				return
			}
			defer func() {
				if recover() != nil {
					r.drain()
				}
			}()
			r.Abandon(Panicked)
			r.drain()
		}()
		do()
	}
	for _, test := range []struct {
		name string
		run  func(r *rig, b *caller)
		want []string // b, in the middle of three
	}{
		{"in Answer", func(r *rig, b *caller) {
			b.panics = true
			recovered(r, func() { r.receive(reply("a", "b", "c")) })
		}, []string{"fail 0 disconnected", "resume"}}, // at its deadline
		{"in Answer and in Fail after it", func(r *rig, b *caller) {
			recovered(r, func() {
				r.receive(reply("a"))
				b.panics = true
				panic("elsewhere")
			})
		}, []string{"fail 0 disconnected", "resume"}},
		{"in the script's full form", func(r *rig, b *caller) {
			r.full = func([]byte, []byte) []byte { panic("full") }
			recovered(r, func() { r.receive(reply("a") + "-NOSCRIPT\r\n" + reply("c")) })
		}, []string{"fail 0 disconnected", "resume"}},
		{"elsewhere", func(r *rig, b *caller) {
			recovered(r, func() { panic("elsewhere") })
		}, []string{"fail 0 panic", "resume"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.warm()
			a, b, c := r.ask("a"), r.ask("b"), r.ask("c")
			r.receive(reply("first"))
			queued := r.tell("queued")
			test.run(r, b)
			for range timeout / (5 * ms) {
				if r.host.live != 0 {
					r.receive(reply("queued"))
					r.host.noWay = true
					r.close()
				}
				r.tick(5 * ms)
			}
			b.expect(t, "b", test.want...)
			queued.expect(t, "what was queued", "answer 0 queued", "resume")
			for _, other := range []*caller{a, c} {
				expect(t, "calls of another", len(other.log), 2)
				expect(t, "last call of another", other.log[len(other.log)-1], "resume")
			}
			r.host.noWay = false
			r.host.now += DefaultMaxDelay
			d := r.ask("d")
			r.receive(reply("d"))
			d.expect(t, "who asks next", "answer 0 d", "resume")
		})
	}
}

func TestPanic_WhileACommandIsWritten_LeavesNoPartOfIt(t *testing.T) {
	r := newRig(t)
	r.warm()
	a := r.newCaller()
	func() {
		defer func() { recover() }()
		r.Begin(&a.ticket, a)
		r.Add(&a.ticket, 0, command("a0"))
		r.Add(&a.ticket, 1, func(dst []byte) []byte { _ = append(dst, "half"...); panic("write") })
	}()
	r.Leave(&a.ticket)
	b := r.ask("b")
	r.receive(reply("first"))
	r.expectSent(t, "first;", "b;")
	r.receive(reply("b"))
	b.expect(t, "b", "answer 0 b", "resume")
}

// Replies must not be taken for those of a message that was never sent, nor
// missed by one that was.
func TestPanic_WhileAMessageIsSent_LosesThatMessageAtMost(t *testing.T) {
	for _, test := range []struct {
		name  string
		setUp func(r *rig)
		wire  string
		want  []string
	}{
		{"by the proxy's call", func(r *rig) { r.host.panicking = true }, "", []string{"fail 0 timeout", "resume"}},
		{"by who counts messages", func(r *rig) { r.Sent = func(int) { panic("sent") } }, reply("a"), []string{"answer 0 a", "resume"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			test.setUp(r)
			a := r.newCaller()
			func() {
				defer func() { recover() }()
				r.tryAsk(a, "a")
			}()
			r.Sent = nil
			if test.wire != "" {
				r.expectSent(t, "a;")
			}
			r.receive(test.wire)
			r.tick(timeout)
			a.expect(t, "a", test.want...)
			r.tick(stallFactor * timeout)
			r.tick(5 * ms)
			b := r.ask("b")
			r.receive(reply("b"))
			b.expect(t, "b", "answer 0 b", "resume")
		})
	}
}
