package link

import (
	"fmt"
	"testing"
)

// newBreaking is a link that ends the asking after 5 failures in a row, and notes
// when.
func newBreaking(t fatal) (*rig, *[]string) {
	r := newRig(t)
	r.BreakAfter = 5
	var told []string
	r.Broke = func(broken bool) { told = append(told, fmt.Sprint(broken)) }
	return r, &told
}

// refused is what asking would say now, without asking.
func (r *rig) refused() Failure {
	r.now = r.host.now
	return r.refuses()
}

// Each way in which a link can fail opens the breaker after 5 times, and then
// nobody waits: asking fails at once, and hardly ever is it tried.
func TestBreaker_OpensAfterFailuresOfTheLinkInARow(t *testing.T) {
	for _, test := range []struct {
		name string
		sick func(r *rig)
		each func(r *rig)
	}{
		{"no way", func(r *rig) { r.host.noWay = true }, func(*rig) {}},
		{"closed at once", func(*rig) {}, func(r *rig) { r.close() }},
		{"garbage", func(*rig) {}, func(r *rig) { r.receive("HTTP/1.1 400 Bad Request\r\n\r\n") }},
		{"silence", func(r *rig) { r.host.mute = true }, func(*rig) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, told := newBreaking(t)
			test.sick(r)
			waited, tries := 0, 0
			for i := range 10_000 { // one request each ms
				c := r.newCaller()
				f := r.tryAsk(c, "a")
				if i > 1000 && f == None {
					tries++
				}
				if f == None || f == Disconnected {
					waited++
				}
				if r.host.live != 0 {
					test.each(r)
				}
				r.tick(1 * ms)
			}
			if fmt.Sprint(*told) != "[true]" {
				t.Fatalf("told %v, want that it opened and no more", *told)
			}
			if waited > 200 || tries > 60 {
				t.Errorf("%d asked, %d of them later than the first second", waited, tries)
			}
			if test.name != "no way" && tries == 0 {
				t.Error("no probe")
			}
			// Well again: the next probe closes it.
			r.host.noWay, r.host.mute = false, false
			for wait := 0; ; wait++ {
				if wait > 2000 {
					t.Fatal("still open after 2 s")
				}
				c := r.newCaller()
				if r.tryAsk(c, "a") == None && r.host.live != 0 && r.flight.len() == 1 && r.messages == 1 {
					r.receive(reply("a"))
				}
				if len(*told) == 2 {
					break
				}
				r.tick(1 * ms)
			}
			expect(t, "asking", r.refused(), None)
		})
	}
}

// The breaker lets one probe through, and holds the others off until its answer.
func TestBreaker_ProbesWithOneQuestion(t *testing.T) {
	r, told := newBreaking(t)
	for range 5 {
		r.ask("a")
		r.close()
		r.host.now = r.backoff.until
	}
	expect(t, "told", fmt.Sprint(*told), "[true]")
	probe := r.ask("probe")
	expect(t, "the next", r.tryAsk(r.newCaller(), "b"), BreakerOpen)
	expect(t, "telling", r.Tell(r.newCaller(), command("t")), BreakerOpen)
	r.receive(reply("probe"))
	probe.expect(t, "probe", "answer 0 probe", "resume")
	expect(t, "told", fmt.Sprint(*told), "[true false]")
	r.ask("b")
}

// An error reply is an answer: it opens nothing, however often it comes, and it
// closes what was open. The node of another key may be well.
func TestBreaker_NeverMindsErrorReplies(t *testing.T) {
	r, told := newBreaking(t)
	for range 100 {
		r.ask("a")
		r.receive("-upstream failure\r\n")
	}
	expect(t, "told", len(*told), 0)
	for range 5 {
		r.ask("a")
		r.close()
		r.host.now = r.backoff.until
	}
	r.ask("probe")
	r.receive("-upstream failure\r\n")
	expect(t, "told", fmt.Sprint(*told), "[true false]")
}

func TestBreaker_AnAnswerBetweenFailuresStartsTheCountAnew(t *testing.T) {
	r, told := newBreaking(t)
	for range 10 {
		for range 4 {
			r.ask("a")
			r.close()
			r.host.now = r.backoff.until
		}
		r.ask("b")
		r.receive(reply("b"))
	}
	expect(t, "told", len(*told), 0)
}

// A silence in which many wait is one failure for each tick that ends some of
// them, not one for each of them: a hiccup of Redis ends nothing.
func TestBreaker_CountsASilenceOnceForAllWhoWaitedTogether(t *testing.T) {
	r, told := newBreaking(t)
	for range 64 {
		r.ask("a")
	}
	r.tick(timeout)
	expect(t, "told", len(*told), 0)
	r.receive(reply("a"))
	b := r.ask("b")
	r.receive(reply("b"))
	b.expect(t, "b", "answer 0 b", "resume")
}

// Late answers do not close it: who is asked only to answer late is not worth the
// waiting.
func TestBreaker_LateAnswersAreNone(t *testing.T) {
	r, told := newBreaking(t)
	for range 5 {
		r.ask("a")
		r.tick(timeout)
		r.receive(reply("a")) // just too late
	}
	expect(t, "told", fmt.Sprint(*told), "[true]")
	r.ask("probe") // at once, since something answers
	expect(t, "the next", r.tryAsk(r.newCaller(), "b"), BreakerOpen)
	r.tick(timeout)
	r.receive(reply("probe"))
	expect(t, "told", fmt.Sprint(*told), "[true]")
}

func TestBreaker_SwitchedOff(t *testing.T) {
	r := newRig(t)
	r.host.mute = true
	for range 1000 {
		if f := r.tryAsk(r.newCaller(), "a"); f == BreakerOpen {
			t.Fatal("open")
		}
		r.tick(10 * ms)
	}
}

// What waits for a stream when the breaker opens is failed, and not left until
// its deadline.
func TestBreaker_FailsWhatWaitsForAStream(t *testing.T) {
	r, _ := newBreaking(t)
	r.host.noWay = true
	var all []*caller
	for range 6 {
		c := r.newCaller()
		if r.tryAsk(c, "a") == None {
			all = append(all, c)
		}
		r.tick(2 * ms)
		r.host.now = r.backoff.until
	}
	r.tick(1 * ms)
	if len(all) == 0 {
		t.Fatal("nobody waited")
	}
	for i, c := range all {
		if len(c.log) == 0 {
			t.Errorf("request %d waits still", i)
		}
	}
}

func TestRenew_OpensAnotherStreamWhenAllAnswersAreIn(t *testing.T) {
	r := newRig(t)
	a := r.ask("a", "b")
	r.ask("c") // waits
	r.now = r.host.now
	r.Receive(r.host.live, []byte(reply("a")))
	r.Renew()
	r.drain()
	expectTokens(t, "before the last answer", r.host.cancelled)
	r.receive(reply("b"))
	a.expect(t, "a", "answer 0 a", "answer 1 b", "resume")
	expectTokens(t, "then", r.host.cancelled, tokenOf(1))
	expect(t, "opens", r.host.opens, 1)
	r.tick(1 * ms)
	expect(t, "opens after a tick", r.host.opens, 2)
	r.expectSent(t, "a;b;", "c;")
}

func TestRenew_OnceASecondAtMost(t *testing.T) {
	r := newRig(t)
	for range 1000 { // ten seconds
		r.ask("a")
		r.now = r.host.now
		r.Renew()
		r.receive("-READONLY You can't write against a read only replica.\r\n")
		r.tick(10 * ms)
	}
	if n := len(r.host.cancelled); n < 10 || n > 20 {
		t.Errorf("renewed %d times in ten seconds, want once or twice a second", n)
	}
}

func TestRenew_WithoutAStreamDoesNothing(t *testing.T) {
	r := newRig(t)
	r.Renew()
	r.ask("a")
	r.receive(reply("a"))
	expectTokens(t, "cancelled", r.host.cancelled)
}
