//go:build !wasip1

package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

// hits are the refusals for which Redis was not asked.
func (r *rig) hits() uint64 { return r.counter("routelimit_deny_cache_hits_total") }

// Four at once, then one every second, in turn through two workers: whatever a
// worker remembers, it passes from the moment on that Redis would let it.
func TestG38_RefusedFromMemoryUntilRedisWouldAllow(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 3, "window": "10s", "algorithm": "fixed_window"}}, "default": null}`)
	second, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	other, err := second.NewPlugin([]byte(`{"routes": {"GET /a": {"identity": "ip", "limit": 3, "window": "10s", "algorithm": "fixed_window"}}, "default": null}`))
	if err != nil {
		t.Fatal(err)
	}
	workers := []*hosttest.Plugin{r.plugin, other}
	ask := func(worker int) *hosttest.Stream {
		s := r.sendTo(workers[worker], "GET", "/a", "")
		r.deliver()
		return s
	}
	for range 3 {
		r.want("passed", ask(0))
	}
	r.want("429", ask(0))
	for at := 1; at <= 9; at++ {
		r.clock.Advance(time.Second)
		s := ask(at % 2)
		r.want("429", s, "at", at, "s")
		h := s.Client().Headers
		for name, want := range map[string]int{"retry-after": 10 - at, "x-ratelimit-reset": 10 - at, "x-ratelimit-remaining": 0, "x-ratelimit-limit": 3} {
			if h.Get(name) != strconv.Itoa(want) {
				t.Errorf("at %d s: %s: %s, want %d", at, name, h.Get(name), want)
			}
		}
	}
	r.wantCounter(8, r.hits(), "hits: all but the first of each worker")
	r.wantCounter(10, r.requests("GET:/a", "ip", "refused"), "refused")
	r.clock.Advance(998 * ms)
	r.want("429", ask(0), "2 ms before the end")
	r.clock.Advance(2 * ms)
	for range 3 {
		r.want("passed", ask(0))
	}
	r.want("429", ask(1))
}

// A refusal from memory says what Redis would say, for every algorithm, at any
// moment, and for the limits that did not refuse as well.
func TestG38_ARefusalFromMemoryIsTheOneThatRedisWouldGive(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window", "sliding_log", "token_bucket"} {
		t.Run(algorithm, func(t *testing.T) {
			policy := fmt.Sprintf(`{"headers": "draft-08", "routes": {"GET /a": {"limits": [
				{"name": "a", "identity": "ip", "limit": 3, "window": "20s", "algorithm": "%[1]s"},
				{"name": "b", "identity": "ip", "limit": 50, "window": "1h", "algorithm": "%[1]s"}]}}, "default": null}`, algorithm)
			r := onRedis(t, policy)
			always := r.configure(asking(policy))
			for i := range 60 {
				remembered := r.get("/a")
				if fate(remembered) == "429" {
					asked := r.sendTo(always, "GET", "/a", "")
					r.deliver()
					if diff := cmp.Diff(asked.Client(), remembered.Client()); diff != "" {
						t.Fatalf("request %d (-Redis +memory):\n%s", i, diff)
					}
				}
				r.clock.Advance(time.Duration(313+i) * ms)
			}
			if r.hits() < 20 {
				t.Errorf("%d hits", r.hits())
			}
		})
	}
}

// What can be given back makes a refusal end early: there every request is asked
// about.
func TestG38_NoRefusalFromMemoryWhereChargesCanBeGivenBack(t *testing.T) {
	for name, route := range map[string]string{
		"count":              `"identity": "ip", "limit": 1, "window": "1m", "count": [401]`,
		"bucket":             `"identity": "ip", "limit": 1, "window": "1m", "bucket": "b"`,
		"cost by a header":   `"identity": "ip", "limit": 1, "window": "1m", "cost": "header:x-cost"`,
		"several identities": `"limits": [{"identity": "ip", "limit": 1, "window": "1m"}, {"identity": "all", "limit": 9, "window": "1m"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, `{"routes": {"GET /a": {`+route+`}}, "default": null}`)
			r.want("passed", r.get("/a"))
			for range 3 {
				r.want("429", r.get("/a"))
			}
			r.wantCounter(0, r.hits(), "hits")
			if err := r.db.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			r.want("passed", r.get("/a"), "after a reset")
		})
	}
}

// Two of Envoy's routes may declare one key's limits, and only one of them gives back:
// what it does ends the other's refusals.
func TestG38_WhatOneRouteOfEnvoyGivesBackEndsTheRefusalsOfAnother(t *testing.T) {
	r := onRedis(t, `{"default": null}`)
	keeps := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limit": 1, "window": "1h"}`})
	counts := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limit": 1, "window": "1h", "count": [401]}`})
	s := r.on(counts, "/a")
	r.want("passed", s)
	r.want("429", r.on(keeps, "/a"))
	r.want("429", r.on(keeps, "/a"), "from memory")
	r.wantCounter(1, r.hits(), "hits")
	respond(s, "200") // which is given back
	r.deliver()
	r.want("passed", r.on(keeps, "/a"))
}

// A refusal under one plan says nothing about another.
func TestG38_ARefusalIsBoundToThePlan(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "window": "1h",
		"limit": {"by": "header:x-plan", "values": {"gold": 3}, "default": 1}}}, "default": null}`)
	r.want("passed", r.get("/a"))
	r.want("429", r.get("/a"))
	r.want("429", r.get("/a"))
	r.wantCounter(1, r.hits(), "hits")
	r.want("passed", r.get("/a", "x-plan", "gold"))
	r.want("429", r.get("/a"))
	r.want("passed", r.get("/a", "x-plan", "gold"))
	s := r.get("/a", "x-plan", "gold")
	r.want("429", s)
	if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "3" {
		t.Errorf("X-RateLimit-Limit %s, want 3", got)
	}
}

func TestG38_AResetIsNoticedAfter30sAtTheLatest(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 1, "window": "1h"`))
	r.want("passed", r.get("/a"))
	r.want("429", r.get("/a"))
	if err := r.db.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(30*time.Second - ms)
	r.want("429", r.get("/a"))
	r.clock.Advance(ms)
	r.want("passed", r.get("/a"))
}

// Redis decides for whoever is not refused; a refused one costs it nothing.
func TestG38_OnlyTheRefusedCallersQuestionsAreSaved(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte { return verdict(c, !strings.Contains(keyOf(c), "203.0.113.7")) }, openAndClosed)
	for range 5 {
		r.want("429", r.get("/open"))
		r.want("passed", r.from("203.0.113.8:1", "/open"))
	}
	r.want("429", r.get("/closed"), "on another route")
	if got := len(r.script.Commands()); got != 7 {
		t.Errorf("%d questions, want one for the refused caller on each route and 5 for the other", got)
	}
	if got := r.configure(openAndClosed); fate(r.sendTo(got, "GET", "/open", "")) != "waiting" {
		t.Error("another configuration refuses from this one's memory")
	}
	r.deliver()
}

// Somebody over his own limit, with many requests in flight, must not keep
// another's at its limit. Each of his requests charged the user whom it named, and
// gave that back a round trip later; so the user was refused all the while.
func TestAFloodOfRefusedRequestsDoesNotHoldAnotherIdentityAtItsLimit(t *testing.T) {
	policy := `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "address", "identity": "ip", "limit": 1, "window": "1h"},
		{"name": "account", "identity": "user", "limit": 50, "window": "1h"}]}}, "default": null}`
	r := onRedis(t, policy)
	victim := func(from int) string {
		s := r.plugin.NewStream()
		s.SetProperty(fmt.Appendf(nil, "198.51.100.%d:1", from), "source", "address")
		s.SendHeaders(hosttest.RequestHeaders("GET", "api.example.com", "/a", "x-user", "victim"), true)
		r.deliver()
		return fate(s)
	}
	r.want("passed", r.get("/a", "x-user", "victim"))
	r.want("429", r.get("/a", "x-user", "victim"))
	for wave := range 20 {
		for range 64 {
			r.send("GET", "/a", "", "x-user", "victim")
		}
		if got := victim(wave); got != "passed" {
			t.Fatalf("wave %d: the user himself: %s", wave, got)
		}
	}
	if got := r.count("rl:{GET:/a|user:victim}", "w3600"); got != 21 {
		t.Errorf("%d count, want the 21 that passed", got)
	}
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds")
}

// Refusals add to how suspect a key is, and passes take from it: a user who was at
// his limit for his own doing, and is not any more, is not asked about before the
// address that is.
func TestWhoIsAskedFirstIsWhoIsRefusedAllTheTime(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "account", "identity": "user", "limit": 50, "window": "10s", "algorithm": "fixed_window"},
		{"name": "address", "identity": "ip", "limit": 1, "window": "1h"}]}}, "default": null}`)
	victim := func(i int) string {
		s := r.plugin.NewStream()
		s.SetProperty(fmt.Appendf(nil, "198.51.%d.%d:1", i>>8, i&255), "source", "address")
		s.SendHeaders(hosttest.RequestHeaders("GET", "api.example.com", "/a", "x-user", "u"), true)
		r.deliver()
		return fate(s)
	}
	for i := range 250 {
		if got, want := victim(i), []string{"passed", "429"}[min(1, i/50)]; got != want {
			t.Fatalf("request %d: %s, want %s", i, got, want)
		}
	}
	r.clock.Advance(10 * time.Second)
	for i := range 10 {
		if got := victim(1000 + i); got != "passed" {
			t.Fatal(got)
		}
	}
	r.want("passed", r.get("/a", "x-user", "another"))
	r.want("429", r.get("/a", "x-user", "another"))
	before := r.counter("routelimit_refunds_total", "outcome", "made")
	for range 64 {
		r.send("GET", "/a", "", "x-user", "u")
	}
	r.deliver()
	r.wantCounter(before, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds")
	if got := r.count(userKey, "w10"); got != 10 {
		t.Errorf("%d count, want the 10 that passed", got)
	}
}

// A charge that comes back late ends the refusals that it has caused.
func TestG38_ALateRefundEndsWhatIsRemembered(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 1, "window": "1h", "on_error": "closed"}}, "default": null}`)
	r.want("passed", r.from("203.0.113.8:1", "/a")) // Redis knows the script from here on
	late := r.send("GET", "/a", "")
	r.clock.Advance(60 * ms)
	r.want("503", late)
	refused := r.send("GET", "/a", "") // which finds the late one's charge
	r.deliver()
	r.want("429", refused)
	r.want("passed", r.get("/a"), "when it was given back")
	r.want("429", r.get("/a"))
}

// Exactness: whoever is asked about first, what passes is what the limits allow.
func TestASuspectThatPassesIsChargedEverywhereOnce(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "user", "identity": "user", "limit": 2, "window": "10s", "algorithm": "fixed_window"},
		{"name": "all", "identity": "all", "limit": 5, "window": "1h"}]}}, "default": null}`)
	pass := func(want int, user string) {
		t.Helper()
		got := 0
		for range 4 {
			if fate(r.get("/a", "x-user", user)) == "passed" {
				got++
			}
		}
		if got != want {
			t.Errorf("%d passed, want %d", got, want)
		}
	}
	pass(2, "u")
	r.clock.Advance(10 * time.Second)
	pass(2, "u")
	if user, all := r.count(userKey, "w10"), r.count(allKey, "w3600"); user != 2 || all != 4 {
		t.Errorf("user stands at %d and all at %d, want 2 and 4", user, all)
	}
	r.wantCounter(2, r.counter("routelimit_asked_twice_total"), "asked twice")
	r.clock.Advance(10 * time.Second)
	pass(1, "u") // all refuses from here on, and what the user was charged comes back
	if user, all := r.count(userKey, "w10"), r.count(allKey, "w3600"); user != 1 || all != 5 {
		t.Errorf("user stands at %d and all at %d, want 1 and 5", user, all)
	}
}

// Of two keys that refuse, one is asked about and speaks for both: who waits as long
// as told passes.
func TestG28_WhoIsRefusedByOneKeyAloneIsToldToWaitForTheOther(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "address", "identity": "ip", "limit": 1, "window": "10s", "algorithm": "fixed_window"},
		{"name": "user", "identity": "user", "limit": 1, "window": "1m", "algorithm": "fixed_window"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u"))
	for i, want := range []string{"60", "60", "60"} {
		s := r.get("/a", "x-user", "u")
		r.want("429", s)
		h := s.Client().Headers
		if after, reset := h.Get("retry-after"), h.Get("x-ratelimit-reset"); after != want || reset != want {
			t.Errorf("refusal %d: Retry-After %s, reset %s, want %s", i+1, after, reset, want)
		}
	}
	r.wantCounter(1, r.requests("GET:/a", "user", "refused"), "asked about once")
	r.clock.Advance(10 * time.Second)
	r.want("passed", r.get("/a", "x-user", "another")) // and the address is at its limit again
	s := r.get("/a", "x-user", "u")
	if after := s.Client().Headers.Get("retry-after"); after != "50" {
		t.Errorf("Retry-After %s after 10 s, want 50", after)
	}
	r.clock.Advance(50 * time.Second)
	r.want("passed", r.get("/a", "x-user", "u"), "after Retry-After")
}

// A key that was refused on another route of its bucket, and refuses nobody on this
// one, says nothing about the keys that do: these are asked whatever becomes of it.
func TestAKeyThatRefusesNobodyIsNotAskedInTheOthersPlace(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte { return verdict(c, !strings.Contains(keyOf(c), "bucket:b")) },
		`{"identities": {"user": {"from": "header:x-user"}}, "routes": {
			"GET /a": {"limits": [{"identity": "user", "limit": 1, "window": "1m", "bucket": "b"}, {"identity": "ip", "limit": 9, "window": "1m"}]},
			"GET /b": {"on_error": "closed", "limits": [
				{"identity": "user", "limit": 1, "window": "1m", "bucket": "b", "shadow": true}, {"identity": "ip", "limit": 9, "window": "1m"}]}}, "default": null}`)
	r.want("429", r.get("/a", "x-user", "u"))
	r.script.Reply = func(c [][]byte) []byte {
		if strings.Contains(keyOf(c), "bucket:b") {
			return []byte("-upstream failure\r\n")
		}
		return refuse(c)
	}
	r.want("429", r.get("/b", "x-user", "u"))
}

// A suspect whose node is dead does not keep the others' nodes from deciding. Only a
// closed route, which answers 503 whatever they say, asks no more.
func TestASuspectWithoutAnAnswerLeavesTheOthersToDecide(t *testing.T) {
	const dead, unsupported = "-upstream failure\r\n", "-ERR unknown command 'EVALSHA'\r\n"
	for name, c := range map[string]struct {
		onError, reply string
		fate           string
		commands       int
	}{
		"open": {"open", dead, "429", 2}, "local": {"local", dead, "429", 2}, "closed": {"closed", dead, "503", 1},
		"open, and a server that cannot decide": {"open", unsupported, "503", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, func(c [][]byte) []byte { return verdict(c, keyOf(c) != userKey) }, pairAndAccount(c.onError, "5", "5"))
			r.want("429", r.get("/a", "x-user", "u"))
			r.script.Reply = func(command [][]byte) []byte {
				if keyOf(command) == userKey {
					return []byte(c.reply)
				}
				return refuse(command)
			}
			before := len(r.script.Commands())
			r.want(c.fate, r.get("/a", "x-user", "u"))
			if got := len(r.script.Commands()) - before; got != c.commands {
				t.Errorf("%d commands, want %d", got, c.commands)
			}
		})
	}
}

// The second question is held to the first one's deadline, and goes by on_error as
// any other: closed gives back what the first was charged.
func TestASecondQuestionWithoutAnAnswerGoesByOnError(t *testing.T) {
	for onError, c := range map[string]struct {
		fate    string
		refunds uint64
	}{"open": {"passed", 0}, "closed": {"503", 1}} {
		t.Run(onError, func(t *testing.T) {
			r := onScript(t, refuse, pairAndAccount(onError, "5", "5"))
			r.want("429", r.get("/a", "x-user", "u"))
			r.script.Reply = allow
			start := r.clock.Now()
			s := r.send("GET", "/a", "", "x-user", "u")
			r.clock.Advance(20 * ms)
			if _, err := r.script.Deliver(); err != nil { // the suspect passes
				t.Fatal(err)
			}
			r.want("waiting", s)
			r.script.Reply = nil
			for fate(s) == "waiting" && r.clock.Now().Sub(start) < time.Second {
				r.clock.Advance(ms)
			}
			r.want(c.fate, s)
			if took := r.clock.Now().Sub(start); took > 56*ms {
				t.Errorf("settled after %v, want the deadline of 50 ms from the first question", took)
			}
			r.wantCounter(1, r.failures("timeout"), "timeouts")
			r.script.Reply = allow
			r.clock.Advance(time.Second)
			r.get("/a", "x-user", "another")
			r.deliver()
			r.wantCounter(c.refunds, r.counter("routelimit_refunds_total", "outcome", "made")+r.counter("routelimit_refunds_total", "outcome", "lost"), "refunds")
		})
	}
}

// Who leaves before he is refused is asked about first and alone all the same: else
// leaving would let him charge the others' keys with every request.
func TestWhoLeavesBeforeHisRefusalIsSuspectToo(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte { return verdict(c, keyOf(c) != userKey) }, pairAndAccount("open", "5", "5"))
	for i, want := range []int{3, 1, 1} { // two decisions and a refund, then one decision
		before := len(r.script.Commands())
		r.send("GET", "/a", "", "x-user", "u").Disconnect()
		r.deliver()
		if got := len(r.script.Commands()) - before; got != want {
			t.Errorf("request %d: %d commands, want %d", i+1, got, want)
		}
	}
}

// A client that leaves between the two questions is asked about no more.
func TestAClientThatLeavesBetweenTheTwoQuestions(t *testing.T) {
	r := onScript(t, refuse, pairAndAccount("open", "5", "5"))
	r.want("429", r.get("/a", "x-user", "u"))
	r.script.Reply = allow
	before := len(r.script.Commands())
	s := r.send("GET", "/a", "", "x-user", "u")
	s.Disconnect()
	r.deliver()
	r.clock.Advance(60 * ms)
	if got := len(r.script.Commands()) - before; got != 1 {
		t.Errorf("%d commands, want the first question", got)
	}
	if r.plugin.TickPeriod() != 0 {
		t.Error("the tick goes on")
	}
}
