package link

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/resp"
)

// greeted is a rig whose streams begin with two commands.
func greeted(t *testing.T) (r *rig, rejected *[]string) {
	r, rejected = newRig(t), &[]string{}
	r.Greeting = func(dst []byte) ([]byte, int) { return append(dst, "AUTH;SELECT;"...), 2 }
	r.Rejected = func(command int, reply resp.Value) {
		*rejected = append(*rejected, strings.Repeat("second ", command)+text(reply))
	}
	return r, rejected
}

func TestNothingIsSentBeforeTheGreetingIsAnswered(t *testing.T) {
	r, _ := greeted(t)
	a := r.ask("a1", "a2")
	r.tell("t")
	r.expectSent(t, "AUTH;SELECT;")
	for _, part := range []string{"+O", "K\r\n", "+OK\r"} { // the second goes on
		r.receive(part)
		r.expectSent(t, "AUTH;SELECT;")
	}
	r.receive("\n")
	r.expectSent(t, "AUTH;SELECT;", "a1;a2;t;")
	r.receive(reply("1", "2", "3"))
	a.expect(t, "a", "answer 0 1", "answer 1 2", "resume")

	r.close()
	r.tick(ms)
	b := r.ask("b")
	r.tick(2 * minBackoff)
	r.expectSent(t, "AUTH;SELECT;", "a1;a2;t;", "AUTH;SELECT;")
	r.receive("+OK\r\n+OK\r\n")
	r.receive(reply("4"))
	b.expect(t, "b", "answer 0 4", "resume")
}

// TestARefusedGreetingFailsAllWhoWait and nothing of theirs is sent, whichever of its commands is refused.
func TestARefusedGreetingFailsAllWhoWait(t *testing.T) {
	for name, tt := range map[string]struct {
		replies  []string
		rejected string
		kind     string
	}{
		"a wrong password":           {[]string{"-WRONGPASS invalid username-password pair\r\n-NOAUTH Authentication required.\r\n"}, "-WRONGPASS invalid username-password pair", "auth"},
		"no such database":           {[]string{"+OK\r\n", "-ERR DB index is out of range\r\n"}, "second -ERR DB index is out of range", "auth"},
		"an odd answer":              {[]string{"+PONG\r\n"}, "PONG", "auth"},
		"a number":                   {[]string{":1\r\n"}, "1", "auth"},
		"a server that is full":      {[]string{"-ERR max number of clients reached\r\n"}, "-ERR max number of clients reached", "disconnected"},
		"a server that has no more":  {[]string{"-LOADING Redis is loading the dataset in memory\r\n"}, "-LOADING Redis is loading the dataset in memory", "disconnected"},
		"what is no reply":           {[]string{"HTTP/1.1 400\r\n"}, "", "bad_reply"},
		"more replies than commands": {[]string{"+OK\r\n+OK\r\n+OK\r\n"}, "", "bad_reply"},
	} {
		t.Run(name, func(t *testing.T) {
			r, rejected := greeted(t)
			a := r.ask("a")
			for _, part := range tt.replies {
				r.receive(part)
			}
			if tt.kind == "bad_reply" {
				r.tick(timeout) // what was never sent waits for another stream, or its deadline
			} else {
				a.expect(t, "a", "fail 0 "+tt.kind, "resume")
			}
			if got := strings.Join(*rejected, ", "); got != tt.rejected {
				t.Errorf("rejected %q, want %q", got, tt.rejected)
			}
			for _, message := range r.host.sent {
				if strings.Contains(message, "a;") {
					t.Errorf("sent %q", message)
				}
			}
			expectTokens(t, "cancelled", r.host.cancelled[:1], tokenOf(1))
		})
	}
}

// TestARefusedGreetingBacksOff: a wrong password is not tried as fast as Redis can refuse it, however many ask, nor does it
// open the breaker. When it is right, all is well at once.
func TestARefusedGreetingBacksOff(t *testing.T) {
	r, _ := greeted(t)
	r.BreakAfter = 3
	r.Broke = func(bool) { t.Error("the breaker has moved") }
	for range 1000 { // in ten seconds
		c := r.newCaller()
		if f := r.tryAsk(c, "a"); f != None && f != Rejected {
			t.Fatalf("refused: %v", f)
		}
		if r.host.live != 0 {
			r.receive("+OK\r\n") // AUTH alone is right, and does not end the back-off
		}
		if r.host.live != 0 {
			r.receive("-ERR DB index is out of range\r\n")
		}
		r.tick(10 * ms)
		if len(c.log) > 0 && c.log[0] != "fail 0 auth" {
			t.Fatalf("%q", c.log)
		}
	}
	if r.host.opens > 40 {
		t.Errorf("%d streams in ten seconds", r.host.opens)
	}
	r.tick(2 * DefaultMaxDelay)
	c := r.ask("good")
	r.receive("+OK\r\n+OK\r\n")
	r.receive(reply("1"))
	c.expect(t, "good", "answer 0 1", "resume")
}

func TestASilentGreetingIsATimeout(t *testing.T) {
	r, _ := greeted(t)
	a := r.ask("a")
	r.tick(timeout)
	a.expect(t, "a", "fail 0 timeout", "resume")
	r.tick(stallFactor * timeout)
	expectTokens(t, "cancelled", r.host.cancelled, tokenOf(1))
}

// TestTheEndSendsNothingBeforeTheGreetingIsAnswered: it might go to another database.
func TestTheEndSendsNothingBeforeTheGreetingIsAnswered(t *testing.T) {
	r, _ := greeted(t)
	a := r.ask("a")
	c := r.tell("refund")
	r.receive("+OK\r\n")
	r.Stop()
	r.drain()
	r.expectSent(t, "AUTH;SELECT;")
	a.expect(t, "a", "fail 0 disconnected", "resume")
	c.expect(t, "the refund", "fail 0 disconnected", "resume")
}

// TestNothingGoesBeforeAnAnsweredGreeting whatever happens, and each question is settled once, by its own reply.
func TestNothingGoesBeforeAnAnsweredGreeting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t)
		r.Greeting = func(dst []byte) ([]byte, int) { return append(dst, "AUTH;SELECT;"...), 2 }
		var callers []*caller
		wire, greetings := "", 0 // of the open stream: what it answers, and how many greetings got their OK
		r.host.onSend = func(message string) {
			if greets := message == "AUTH;SELECT;"; greets == (greetings == 2) {
				t.Fatalf("sent %q when %d commands of the greeting were answered", message, greetings)
			}
			for name := range strings.SplitSeq(strings.TrimSuffix(message, ";"), ";") {
				switch {
				case name != "AUTH" && name != "SELECT":
					wire += reply(name)
				case rapid.IntRange(0, 9).Draw(t, "trouble") > 0:
					wire += "+OK\r\n"
				default:
					wire += rapid.SampledFrom([]string{"-WRONGPASS no\r\n", "-LOADING no\r\n", "-NOSCRIPT no\r\n", ":1\r\n", "?"}).Draw(t, "reply")
				}
			}
		}
		fresh := func() {
			if r.host.live == 0 {
				wire, greetings = "", 0
			}
		}
		receive := func(n int) {
			for n = min(n, len(wire)); n > 0 && r.host.live != 0; n = min(n, len(wire)) {
				part := wire[:1] // each by itself, so that it is known how far the greeting has come
				wire, n = wire[1:], n-1
				if part == "\n" && greetings < 2 {
					greetings++
				}
				r.receive(part)
				fresh()
			}
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := "q" + string(rune('a'+i%26)) + strings.Repeat("z", i/26)
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0, 1:
				c := r.newCaller()
				if r.Begin(&c.ticket, c) == None {
					told := r.newCaller()
					r.Enclose(told, command(name+"+"))
					r.Add(&c.ticket, 0, command(name))
					r.Commit(&c.ticket)
					callers = append(callers, c, told)
				}
			case 2:
				c := r.newCaller()
				if r.Tell(c, command(name)) == None {
					callers = append(callers, c)
				}
			case 3, 4:
				receive(rapid.IntRange(1, 80).Draw(t, "bytes"))
			case 5:
				r.tick(time.Duration(rapid.IntRange(1, 70).Draw(t, "ms")) * ms)
			case 6:
				if r.host.live != 0 {
					r.close()
				}
			case 7:
				r.Renew()
			}
			fresh()
		}
		r.Stop()
		for r.ready.len() > 0 {
			r.drain()
		}
		for i, c := range callers {
			settled := 0
			for _, call := range c.log {
				if call == "resume" {
					settled++
				}
			}
			if settled != 1 {
				t.Fatalf("caller %d got %q", i, c.log)
			}
		}
	})
}
