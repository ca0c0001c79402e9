//go:build !wasip1

package main_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

func TestG21_LimitsOfOneIdentityAreAllOrNothing(t *testing.T) {
	const key = "rl:{GET:/a|ip:203.0.113.7}"
	for name, c := range map[string]struct {
		limits string
		pass   int
		stored map[string]string
	}{
		"three windows": {`{"identity": "ip", "limit": 20, "window": "1m"}, {"identity": "ip", "limit": 200, "window": "10m"}, {"identity": "ip", "limit": 1200, "window": "1h"}`,
			20, map[string]string{"w60": "1729771200 20 0", "w600": "1729771200 20 0", "w3600": "1729771200 20 0"}},
		"the last refuses": {`{"identity": "ip", "limit": 20, "window": "1m"}, {"identity": "ip", "limit": 5, "window": "1h", "algorithm": "fixed_window"}`,
			5, map[string]string{"w60": "1729771200 5 0", "w3600": "1729771200 5 0"}},
		"one window, one charge": {`{"name": "a", "identity": "ip", "limit": 20, "window": "1m"}, {"name": "b", "identity": "ip", "limit": 5, "window": "1m", "algorithm": "fixed_window"}`,
			5, map[string]string{"w60": "1729771200 5 0"}},
		"a bucket and a window": {`{"identity": "ip", "limit": 60, "window": "1m", "algorithm": "token_bucket", "burst": 4}, {"identity": "ip", "limit": 5, "window": "1h"}`,
			4, map[string]string{"b60": "1729771200000 240000", "w3600": "1729771200 4 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, `{"routes": {"GET /a": {"limits": [`+c.limits+`]}}, "default": null}`)
			if got := r.passes(25); got != c.pass {
				t.Errorf("%d of 25 passed, want %d", got, c.pass)
			}
			if diff := cmp.Diff(c.stored, r.stored(key)); diff != "" {
				t.Error(diff)
			}
			if got := len(r.keys()); got != 1 {
				t.Errorf("%d keys for one identity", got)
			}
		})
	}
}

// pairAndAccount is a login with limits of two identities: the one named in the
// header x-user, and everybody.
func pairAndAccount(onError, user, all string) string {
	return fmt.Sprintf(`{"identities": {"user": {"from": "header:x-user"}},
		"routes": {"GET /a": {"on_error": "%s", "limits": [
			{"name": "user", "identity": "user", "limit": %s, "window": "1m"},
			{"name": "all", "identity": "all", "limit": %s, "window": "1m"}]}}, "default": null}`, onError, user, all)
}

const (
	userKey = "rl:{GET:/a|user:u}"
	allKey  = "rl:{GET:/a|all}"
)

func TestG21_ARefusalOfOneIdentitySpendsNothingOfAnother(t *testing.T) {
	for name, limits := range map[string][2]string{"the first refuses": {"1", "10"}, "the last refuses": {"10", "1"}} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, pairAndAccount("open", limits[0], limits[1]))
			r.want("passed", r.get("/a", "x-user", "u"))
			for range 20 {
				r.want("429", r.get("/a", "x-user", "u"))
			}
			if user, all := r.count(userKey, "w60"), r.count(allKey, "w60"); user != 1 || all != 1 {
				t.Errorf("user stands at %d and all at %d, want 1 and 1", user, all)
			}
			r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds: who was refused is asked about alone")
			r.wantCounter(1, r.requests("GET:/a", "user", "passed"), "user passed")
			r.wantCounter(1, r.requests("GET:/a", "all", "passed"), "all passed")
			if limits[0] == "1" {
				for i := range 9 {
					r.want("passed", r.get("/a", "x-user", fmt.Sprint(i)))
				}
				r.want("429", r.get("/a", "x-user", "another"))
			}
		})
	}
}

func TestG21_RefundsOfEveryAlgorithm(t *testing.T) {
	for algorithm, field := range map[string]string{"fixed_window": "w60", "sliding_window": "w60", "sliding_log": "l60", "token_bucket": "b60"} {
		t.Run(algorithm, func(t *testing.T) {
			policy := fmt.Sprintf(`{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
				{"identity": "all", "limit": 10, "window": "1m", "cost": 2, "algorithm": "%s"},
				{"identity": "user", "limit": 1, "window": "1h"}]}}, "default": null}`, algorithm)
			r := onRedis(t, policy)
			r.want("passed", r.get("/a", "x-user", "u"))
			before := r.stored(allKey)[field]
			for range 7 {
				r.plugin = r.configure(policy) // which does not remember who was refused
				r.want("429", r.get("/a", "x-user", "u"))
			}
			if after := r.stored(allKey)[field]; after != before || before == "" {
				t.Errorf("the other's state was %q and is %q", before, after)
			}
			for i := range 4 {
				r.want("passed", r.get("/a", "x-user", fmt.Sprint(i)))
			}
			r.want("429", r.get("/a", "x-user", "another"))
		})
	}
}

// The reply that refuses may come before the one that charged, in a message of
// its own.
func TestRefundWaitsForTheReplyThatCharged(t *testing.T) {
	for name, first := range map[string]bool{"the refusal comes first": false, "the charge comes first": true} {
		t.Run(name, func(t *testing.T) {
			answered := 0
			r := onScript(t, func(c [][]byte) []byte {
				answered++
				return verdict(c, (answered == 1) == first)
			}, pairAndAccount("open", "5", "5"))
			s := r.send("GET", "/a", "", "x-user", "u")
			for fate(s) == "waiting" {
				if n, err := r.script.DeliverBytes(1); err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}
			r.want("429", s)
			r.deliver()
			commands := r.script.Commands()
			if len(commands) != 3 || !isRefund(commands[2]) {
				t.Fatalf("%d commands, want two decisions and a refund", len(commands))
			}
			want := allKey
			if first {
				want = userKey
			}
			if got := keyOf(commands[2]); got != want {
				t.Errorf("refunded %s, want %s", got, want)
			}
			if at := commands[2][4][6:14]; binary.BigEndian.Uint64(at)<<8>>8 != scriptedTimeMS {
				t.Errorf("the refund names the time % x, want the reply's", at)
			}
		})
	}
}

// A client that is over its own limit must not spend others' by leaving before
// it is refused.
func TestAClientThatLeavesBeforeItsRefusalSpendsNothingOfOthers(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "10"))
	r.want("passed", r.get("/a", "x-user", "u"))
	for range 5 {
		r.send("GET", "/a", "", "x-user", "u").Disconnect()
		r.deliver()
	}
	if all := r.count(allKey, "w60"); all != 1 {
		t.Errorf("all stands at %d, want 1", all)
	}
	r.send("GET", "/a", "", "x-user", "v").Disconnect()
	r.deliver()
	if all := r.count(allKey, "w60"); all != 2 {
		t.Errorf("all stands at %d after a request that would have passed, want 2: it stays counted", all)
	}
}

const countFailures = `{"identities": {"user": {"from": "header:x-user"}},
	"routes": {"GET /a": {"limits": [
		{"name": "failures", "identity": "user", "limit": 3, "window": "1h", "count": [401, 403]},
		{"name": "all", "identity": "ip", "limit": 100, "window": "5m"}]}}, "default": null}`

func TestCountKeepsOnlyTheStatusesThatItNames(t *testing.T) {
	r := onRedis(t, countFailures)
	const failures, all = "rl:{GET:/a|user:u}", "rl:{GET:/a|ip:203.0.113.7}"
	for i, c := range []struct {
		status string
		want   int
	}{{"200", 0}, {"401", 1}, {"500", 1}, {"404", 1}, {"403", 2}, {"302", 2}, {"429", 2}, {"503", 2}, {"401", 3}} {
		s := r.get("/a", "x-user", "u")
		r.want("passed", s)
		respond(s, c.status)
		r.deliver()
		if got := r.count(failures, "w3600"); got != c.want {
			t.Errorf("after status %s %d count, want %d", c.status, got, c.want)
		}
		if got := r.count(all, "w300"); got != i+1 {
			t.Errorf("after status %s the other limit stands at %d, want %d", c.status, got, i+1)
		}
	}
	r.want("429", r.get("/a", "x-user", "u"))
	r.want("passed", r.get("/a", "x-user", "v"))
}

// Two limits that share a charge share its refund: what one of them keeps is not
// given back for the other, or it would count nothing.
func TestCountDoesNotTakeFromALimitThatSharesItsCharge(t *testing.T) {
	for name, limits := range map[string]string{
		"one identity": `{"name": "failures", "identity": "ip", "limit": 10, "window": "5m", "count": [401]},
			{"name": "all", "identity": "ip", "limit": 3, "window": "5m", "algorithm": "fixed_window"}`,
		"one falls to the other's": `{"name": "failures", "identity": "user", "limit": 10, "window": "5m", "count": [401]},
			{"name": "all", "identity": "ip", "limit": 3, "window": "5m"}`,
		"different statuses": `{"name": "a", "identity": "ip", "limit": 10, "window": "5m", "count": [401]},
			{"name": "b", "identity": "ip", "limit": 3, "window": "5m", "count": [200]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [`+limits+`]}}, "default": null}`)
			for range 3 {
				s := r.get("/a")
				r.want("passed", s)
				respond(s, "200")
				r.deliver()
			}
			r.want("429", r.get("/a"))
		})
	}
}

func TestCountKeepsRequestsWithoutAResponse(t *testing.T) {
	r := onRedis(t, countFailures)
	r.get("/a", "x-user", "u").Disconnect() // the upstream has not answered
	r.deliver()
	if got := r.count("rl:{GET:/a|user:u}", "w3600"); got != 1 {
		t.Errorf("%d count, want 1", got)
	}
}

func TestShadowLimitsNeverRefuseAndAreCountedApart(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"limits": [
		{"name": "soon", "identity": "ip", "limit": 2, "window": "1m", "shadow": true},
		{"name": "now", "identity": "ip", "limit": 4, "window": "1m"}]}}, "default": null}`)
	for i := range 4 {
		s := r.get("/a")
		r.want("passed", s, i)
		respond(s, "200")
		if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "4" {
			t.Errorf("X-RateLimit-Limit %s, want 4: shadow limits are in no header", got)
		}
	}
	r.want("429", r.get("/a"))
	want := map[string]string{"w60": "1729771200 4 0", "~w60": "1729771200 2 0"}
	if diff := cmp.Diff(want, r.stored("rl:{GET:/a|ip:203.0.113.7}")); diff != "" {
		t.Error(diff)
	}
	r.wantCounter(2, r.requests("GET:/a", "soon", "passed"), "soon passed")
	r.wantCounter(3, r.requests("GET:/a", "soon", "shadow_refused"), "soon shadow_refused")
	r.wantCounter(0, r.requests("GET:/a", "soon", "refused"), "soon refused")
	r.wantCounter(4, r.requests("GET:/a", "now", "passed"), "now passed")
	r.wantCounter(1, r.requests("GET:/a", "now", "refused"), "now refused")
	if n := r.logged(`"limit":"soon","key":"ip","quota":2,"window":"1m","identity":"ip:203.0.113.7","shadow":true`); n != 3 {
		t.Errorf("%d log lines of the shadow limit, want 3", n)
	}
}

// A refund gives a shadow limit back what it was charged, and no more.
func TestARefundLeavesAShadowLimitThatWasNotCharged(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"identity": "ip", "limit": 1, "window": "1m", "shadow": true},
		{"name": "address", "identity": "ip", "limit": 10, "window": "1m"},
		{"identity": "user", "limit": 1, "window": "1m"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u"))
	r.want("429", r.get("/a", "x-user", "u"))
	want := map[string]string{"w60": "1729771200 1 0", "~w60": "1729771200 1 0"}
	if diff := cmp.Diff(want, r.stored("rl:{GET:/a|ip:203.0.113.7}")); diff != "" {
		t.Error(diff)
	}
}

// Nothing that only a shadow limit asked for can refuse, whatever happens.
func TestShadowNeverRefusesWhenRedisFails(t *testing.T) {
	const closed = `"on_error": "closed", "identity": "ip", "limit": 0, "window": "1m"`
	for name, policy := range map[string]string{
		"mode shadow":       `{"mode": "shadow", "routes": {"GET /a": {` + closed + `}}, "default": null, "undeclared": "refuse"}`,
		"only shadow limit": `{"routes": {"GET /a": {` + closed + `, "shadow": true}}, "default": null}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, always("-OOM command not allowed\r\n"), policy)
			r.want("passed", r.get("/a"))
			r.want("passed", r.get("/b"))
			r.wantCounter(1, r.failures("oom"), "failures")
			s := r.send("GET", "/a", "") // never answered
			r.clock.Advance(60 * ms)
			r.want("passed", s)
		})
	}
}

func TestShadowModeRefusesNobody(t *testing.T) {
	r := onRedis(t, `{"mode": "shadow", "routes": {"GET /a": {"identity": "ip", "limit": 1, "window": "1m"}}, "default": null}`)
	for range 3 {
		s := r.get("/a")
		r.want("passed", s)
		respond(s, "200")
		if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "" {
			t.Errorf("X-RateLimit-Limit %s in shadow mode", got)
		}
	}
	r.wantCounter(2, r.requests("GET:/a", "ip", "shadow_refused"), "shadow_refused")
}

func TestG30_ALimitOfZeroRefusesWithoutAsking(t *testing.T) {
	for name, policy := range map[string]string{
		"alone":                       oneLimit(`"limit": 0, "window": "1m"`),
		"where identities are hashed": strings.Replace(oneLimit(`"limit": 0, "window": "1m"`), "{", `{"log": {"identity": "hashed"},`, 1),
		"beside others, with a body to read": `{"identities": {"u": {"from": "body:u"}}, "routes": {"GET /a": {"limits": [
			{"identity": "u", "limit": 5, "window": "1m"}, {"name": "closed", "identity": "all", "limit": 0, "window": "1m"}]}}, "default": null}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, nil, policy)
			s := r.plugin.NewStream()
			s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/a", "content-type", jsonType), false)
			r.want("429", s)
			if got := s.Client().Headers.Values("retry-after"); got != nil {
				t.Errorf("Retry-After %q; waiting does not help", got)
			}
			if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "0" {
				t.Errorf("X-RateLimit-Limit %q", got)
			}
			if len(r.script.Streams()) != 0 {
				t.Error("Redis was asked")
			}
			if n := r.logged(`"event":"rate_limited"`); n != 1 || r.logged(`"identity"`) != 0 {
				t.Errorf("want one line without an identity:\n%s", r.vm.LogText())
			}
		})
	}
}

// A limit of 0 never lets more pass, so its answer shows no time, least of all
// another request's.
func TestALimitOfZeroTellsNoReset(t *testing.T) {
	r := onScript(t, allow, `{"headers": "x-ratelimit-epoch", "routes": {
		"GET /a": {"identity": "ip", "limit": 5, "window": "1m"}, "GET /zero": {"identity": "ip", "limit": 0, "window": "1m"}}, "default": null}`)
	r.want("passed", r.get("/a"))
	r.clock.Advance(time.Hour)
	s := r.get("/zero")
	r.want("429", s)
	if h := s.Client().Headers; h.Get("x-ratelimit-limit") != "0" || h.Values("x-ratelimit-reset") != nil {
		t.Errorf("headers %v", h)
	}
}
