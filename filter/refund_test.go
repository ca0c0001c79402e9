//go:build !wasip1

package main_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

// A refund whose stream has closed meanwhile opens the next one by itself, and does
// not wait for another request.
func TestARefundNeedsNoOtherRequestToBeSent(t *testing.T) {
	r := onScript(t, allow, countFailures)
	s := r.get("/a", "x-user", "u")
	r.want("passed", s)
	if err := r.script.CloseAll(13, ""); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(100 * ms)
	if r.plugin.TickPeriod() != 0 {
		t.Fatal("the tick goes on")
	}
	respond(s, "200")
	r.advance(10 * ms)
	commands := r.script.Commands()
	if last := commands[len(commands)-1]; !isRefund(last) {
		t.Errorf("of %d commands the last is no refund", len(commands))
	}
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds")
}

// One user sends 20 at once, over his own limit, while others ask.
func TestG21_AFloodOfOneUserSpendsNothingOfTheOthers(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "10"))
	var flood, others []*hosttest.Stream
	for i := range 20 {
		flood = append(flood, r.send("GET", "/a", "", "x-user", "u"))
		if i%5 == 4 {
			others = append(others, r.send("GET", "/a", "", "x-user", fmt.Sprint("other", i)))
		}
	}
	r.deliver()
	passed := 0
	for i, s := range flood {
		if fate(s) == "passed" {
			passed++
		} else {
			r.want("429", s, i)
		}
	}
	if passed != 1 {
		t.Errorf("%d of the flood passed, want 1", passed)
	}
	for i, s := range others {
		if fate(s) == "passed" { // a refusal too many may be, while the flood's charges stand
			passed++
		} else {
			r.want("429", s, i)
		}
	}
	if all := r.count(allKey, "w60"); all != passed {
		t.Errorf("all stands at %d, want the %d that passed", all, passed)
	}
	for i := range 10 - passed {
		r.want("passed", r.get("/a", "x-user", fmt.Sprint("late", i)), i)
	}
	r.want("429", r.get("/a", "x-user", "latest"))
}

// Between a charge and its refund another caller sees a count that is too high by
// that charge: one refusal too many, never one admission.
func TestG21_WhatAnotherSeesBetweenAChargeAndItsRefund(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "2"))
	r.want("passed", r.get("/a", "x-user", "u"))
	refused := r.send("GET", "/a", "", "x-user", "u") // charged to all, and not yet given back
	other := r.send("GET", "/a", "", "x-user", "v")
	r.deliver()
	r.want("429", refused)
	r.want("429", other)
	if all, v := r.count(allKey, "w60"), r.count("rl:{GET:/a|user:v}", "w60"); all != 1 || v != 0 {
		t.Errorf("all stands at %d and the other's own limit at %d, want 1 and 0", all, v)
	}
	r.want("passed", r.get("/a", "x-user", "v"), "a round trip later")
	r.want("429", r.get("/a", "x-user", "w"))
}

// A refund that is lost leaves a count too high: the caller gets his answer, and
// what was lost is counted.
func TestG21_TheRefundItselfFails(t *testing.T) {
	for name, fail := range map[string]func([][]byte) []byte{
		"an error":  always("-OOM command not allowed\r\n"),
		"nonsense":  always("+OK\r\n"),
		"no answer": func([][]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, func(c [][]byte) []byte {
				if isRefund(c) {
					return fail(c)
				}
				return verdict(c, keyOf(c) != userKey)
			}, pairAndAccount("closed", "5", "5"))
			r.want("429", r.get("/a", "x-user", "u"))
			r.clock.Advance(time.Second) // without an answer the stream is given up
			r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "lost"), "refunds lost")
			r.wantCounter(0, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds made")
			r.clock.Advance(2 * time.Second) // past any back-off
			r.script.Reply = allow
			r.want("passed", r.get("/a", "x-user", "v"), "afterwards")
		})
	}
	t.Run("the stream closes", func(t *testing.T) {
		r := onScript(t, func(c [][]byte) []byte {
			if isRefund(c) {
				return nil
			}
			return verdict(c, keyOf(c) != userKey)
		}, pairAndAccount("closed", "5", "5"))
		r.want("429", r.get("/a", "x-user", "u"))
		if err := r.script.Streams()[0].CloseRemote(14, ""); err != nil {
			t.Fatal(err)
		}
		r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "lost"), "refunds lost")
	})
}

// The refund names the window of the charge: what has begun since is not touched.
func TestG21_TheWindowTurnsBeforeTheRefund(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "10"))
	r.waitUntil(30 * time.Second)
	r.want("passed", r.get("/a", "x-user", "u"))
	r.waitUntil(59_990 * ms)
	refused := r.send("GET", "/a", "", "x-user", "u")
	r.clock.Advance(20 * ms)
	other := r.send("GET", "/a", "", "x-user", "v")
	r.deliver()
	r.want("429", refused)
	r.want("passed", other)
	if diff := cmp.Diff(map[string]string{"w60": "1729771260 1 1"}, r.stored(allKey)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}

// Where the key has gone meanwhile, a refund makes none.
func TestG21_TheKeyHasExpiredBeforeTheRefund(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "10"))
	r.want("passed", r.get("/a", "x-user", "u"))
	s := r.send("GET", "/a", "", "x-user", "u")
	for tries := 0; r.count(allKey, "w60") < 2; tries++ { // Redis charges it, and nobody has heard of it
		if tries == 5000 {
			t.Fatal("Redis has not charged it after five seconds")
		}
		time.Sleep(ms)
	}
	if err := r.db.Del(t.Context(), allKey).Err(); err != nil {
		t.Fatal(err)
	}
	r.deliver()
	r.want("429", s)
	if slices.Contains(r.keys(), allKey) {
		t.Errorf("a refund made %v", r.stored(allKey))
	}
}

// One key refuses in time, the answer about another comes when the request has long
// been refused: what that one charged is given back.
func TestG21_ALateAnswerToARequestThatWasRefused(t *testing.T) {
	for name, allows := range map[string]bool{"it would have passed": true, "it refuses, too": false} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, func(c [][]byte) []byte { return verdict(c, allows && keyOf(c) == allKey) }, pairAndAccount("open", "5", "5"))
			s := r.send("GET", "/a", "", "x-user", "u")
			first := len(refuse(r.script.Commands()[0]))
			if keyOf(r.script.Commands()[0]) != userKey {
				t.Fatal("the user's key is not the first")
			}
			if n, err := r.script.DeliverBytes(first); err != nil || n != first {
				t.Fatal(n, err)
			}
			r.want("waiting", s)
			r.clock.Advance(60 * ms)
			r.want("429", s)
			r.deliver()
			var refunded []string
			for _, c := range r.script.Commands() {
				if isRefund(c) {
					refunded = append(refunded, keyOf(c))
				}
			}
			var want []string
			if allows {
				want = []string{allKey}
			}
			if diff := cmp.Diff(want, refunded); diff != "" {
				t.Errorf("refunds (-want +got):\n%s", diff)
			}
			if got := r.host.Counter("routelimit_panics_total"); got != 0 || fate(s) != "429" {
				t.Errorf("%d panics, %s", got, fate(s))
			}
		})
	}
}

// Two limits whose identities come to the same share one charge and keep their own
// numbers; where they come to two, each counts alone.
func TestG21_TwoLimitsThatResolveToOneKey(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "user", "identity": "user|ip", "limit": 5, "window": "1m"},
		{"name": "address", "identity": "ip", "limit": 3, "window": "1m", "cost": 1},
		{"name": "hour", "identity": "ip", "limit": 9, "window": "1h"}]}}, "default": null}`)
	const address = "rl:{GET:/a|ip:203.0.113.7}"
	if got := r.passes(5); got != 3 {
		t.Errorf("%d of 5 passed, want 3", got)
	}
	if diff := cmp.Diff(map[string]string{"w60": "1729771200 3 0", "w3600": "1729771200 3 0"}, r.stored(address)); diff != "" {
		t.Errorf("one key (-want +got):\n%s", diff)
	}
	r.advance(2 * time.Minute)
	for range 3 {
		r.want("passed", r.get("/a", "x-user", "u"))
	}
	r.want("429", r.get("/a", "x-user", "u"))
	if user, ip := r.count("rl:{GET:/a|user:u}", "w60"), r.count(address, "w60"); user != 3 || ip != 3 {
		t.Errorf("user stands at %d and the address at %d, want 3 and 3", user, ip)
	}
}

// During an update the old and the new configuration ask side by side. Each keeps
// the window of its own, in one key, and neither cuts the other's.
func TestG32_OldAndNewConfigurationWithDifferentWindows(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 3, "window": "1m", "algorithm": "fixed_window"`))
	old := r.plugin
	fresh := r.configure(oneLimit(`"limit": 5, "window": "1h", "algorithm": "fixed_window"`))
	counts := map[*hosttest.Plugin]int{}
	ask := func(tries int) {
		for range tries {
			for _, p := range []*hosttest.Plugin{old, fresh} {
				s := r.sendTo(p, "GET", "/a", "")
				r.deliver()
				if fate(s) == "passed" {
					counts[p]++
				}
			}
		}
	}
	ask(10)
	if counts[old] != 3 || counts[fresh] != 5 {
		t.Errorf("%d and %d passed, want 3 and 5", counts[old], counts[fresh])
	}
	r.advance(time.Minute)
	ask(10)
	if counts[old] != 6 || counts[fresh] != 5 {
		t.Errorf("%d and %d passed a minute later, want 6 and 5", counts[old], counts[fresh])
	}
	want := map[string]string{"w60": "1729771260 3 3", "w3600": "1729771200 5 0"}
	if diff := cmp.Diff(want, r.stored("rl:{GET:/a|ip:203.0.113.7}")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	old.Close()
	r.advance(time.Hour)
	r.plugin = fresh
	if got := r.passes(7); got != 5 {
		t.Errorf("%d passed after the old one's end, want 5", got)
	}
}

// Numbers that do not fit into 32 bits go through exactly.
func TestG30_LimitsAbove32Bits(t *testing.T) {
	for algorithm, limit := range map[string]int64{"fixed_window": 10_000_000_000_000, "sliding_window": 9_007_199_254_740, "token_bucket": 9_007_199_254_740} {
		t.Run(algorithm, func(t *testing.T) {
			r := onRedis(t, oneLimit(fmt.Sprintf(`"limit": %d, "window": "1s", "algorithm": "%s", "cost": "header:x-cost"`, limit, algorithm)))
			left := limit
			for _, cost := range []int64{1, 1 << 32, 1<<32 + 1, 4_000_000_000_001} {
				s := r.get("/a", "x-cost", fmt.Sprint(cost))
				r.want("passed", s)
				respond(s, "200")
				left -= cost
				if got := s.Client().Headers.Get("x-ratelimit-remaining"); got != fmt.Sprint(left) {
					t.Errorf("after a cost of %d %s are left, want %d", cost, got, left)
				}
			}
			r.want("429", r.get("/a", "x-cost", fmt.Sprint(left+1)))
			r.want("passed", r.get("/a", "x-cost", fmt.Sprint(left)))
		})
	}
}
