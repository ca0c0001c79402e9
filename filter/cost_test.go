//go:build !wasip1

package main_test

import (
	"fmt"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

const priced = `{"routes": {"GET /a": {"name": "units", "identity": "ip", "limit": 10, "window": "1m", "cost": "header:x-cost"}}, "default": null}`

const pricedKey = "rl:{GET:/a|ip:203.0.113.7}"

func TestCostFromAHeaderIsCharged(t *testing.T) {
	r := onRedis(t, priced)
	for i, c := range []struct {
		cost, fate string
		count      int
	}{{"3", "passed", 3}, {"7", "passed", 10}, {"1", "429", 10}} {
		s := r.get("/a", "x-cost", c.cost)
		r.want(c.fate, s, i)
		if got := r.count(pricedKey, "w60"); got != c.count {
			t.Errorf("after a cost of %s %d count, want %d", c.cost, got, c.count)
		}
		if c.fate == "passed" {
			respond(s, "200")
		}
		if got, want := s.Client().Headers.Get("x-ratelimit-remaining"), fmt.Sprint(10-c.count); got != want {
			t.Errorf("remaining %s after a cost of %s, want %s", got, c.cost, want)
		}
	}
	r.wantCounter(0, r.counter("routelimit_identity_total", "kind", "cost_unread"), "cost_unread")
}

func TestCostThatCannotBeReadCountsOneAndIsReported(t *testing.T) {
	r := onRedis(t, priced)
	for i, lines := range [][]string{
		{}, {"x-cost", "2", "x-cost", "2"}, {"x-cost", ""}, {"x-cost", "0"}, {"x-cost", "-5"}, {"x-cost", "2.5"}, {"x-cost", "two"}, {"x-cost", "\xff"},
	} {
		r.want("passed", r.get("/a", lines...), lines)
		if got := r.count(pricedKey, "w60"); got != i+1 {
			t.Errorf("%q: %d count, want %d", lines, got, i+1)
		}
	}
	r.wantCounter(8, r.counter("routelimit_identity_total", "kind", "cost_unread"), "cost_unread")
	const line = "routelimit: the header that gives the cost of requests of GET:/a is missing, repeated or no positive whole number, and 1 counts"
	if got := r.logged(line); got != 1 {
		t.Errorf("%d lines, want one in ten seconds", got)
	}
	r.advance(10 * time.Second)
	r.want("passed", r.get("/a"))
	if r.logged(line) != 2 || r.logged("(7 more like this were not logged)") != 1 {
		t.Errorf("want a second line that counts the others:\n%s", r.vm.LogText())
	}
}

func TestCostAboveTheLimitNeverPassesAndChargesNothing(t *testing.T) {
	r := onRedis(t, priced)
	for _, cost := range []string{"11", "1000001", "9007199254740991", "99999999999999999999999999"} {
		s := r.get("/a", "x-cost", cost)
		r.want("429", s, cost)
		if got := s.Client().Headers.Values("retry-after"); got != nil {
			t.Errorf("cost %s: Retry-After %q; waiting does not help", cost, got)
		}
	}
	if keys := r.keys(); len(keys) != 0 {
		t.Errorf("refusals left %v", keys)
	}
	r.want("passed", r.get("/a", "x-cost", "10"))
}

// Whatever gives back a charge gives back what this request was charged.
func TestCostFromAHeaderIsRefundedWhole(t *testing.T) {
	for algorithm, field := range map[string]string{"fixed_window": "w60", "sliding_window": "w60", "sliding_log": "l60", "token_bucket": "b60"} {
		t.Run("another identity refuses, "+algorithm, func(t *testing.T) {
			r := onRedis(t, fmt.Sprintf(`{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
				{"identity": "all", "limit": 20, "window": "1m", "cost": "header:x-cost", "algorithm": "%s"},
				{"identity": "user", "limit": 1, "window": "1h"}]}}, "default": null}`, algorithm))
			r.want("passed", r.get("/a", "x-user", "u", "x-cost", "2"))
			before := r.stored(allKey)[field]
			for _, cost := range []string{"5", "18", "1"} {
				r.want("429", r.get("/a", "x-user", "u", "x-cost", cost))
			}
			if after := r.stored(allKey)[field]; after != before || before == "" {
				t.Errorf("the state was %q and is %q", before, after)
			}
		})
	}
	t.Run("the status does not count", func(t *testing.T) {
		r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 10, "window": "1m", "cost": "header:x-cost", "count": [401]}}, "default": null}`)
		for status, want := range map[string]int{"200": 0, "401": 4} {
			s := r.get("/a", "x-cost", "4")
			r.want("passed", s)
			respond(s, status)
			r.deliver()
			if got := r.count(pricedKey, "w60"); got != want {
				t.Errorf("status %s: %d count, want %d", status, got, want)
			}
			r.advance(2 * time.Minute)
		}
	})
	t.Run("the reply is late", func(t *testing.T) {
		r := onRedis(t, `{"routes": {"GET /a": {"on_error": "closed", "identity": "ip", "limit": 10, "window": "1m", "cost": "header:x-cost"}}, "default": null}`)
		r.want("passed", r.get("/a", "x-cost", "2")) // Redis knows the script from here on
		s := r.send("GET", "/a", "", "x-cost", "5")
		r.clock.Advance(60 * ms)
		r.deliver()
		r.want("503", s)
		if got := r.count(pricedKey, "w60"); got != 2 {
			t.Errorf("%d count, want 2", got)
		}
	})
}

// What was given back is not shown as spent.
func TestCostFromAHeaderThatWasRefundedIsShownAsLeft(t *testing.T) {
	r := onRedis(t, `{"headers": "draft-08", "identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "all", "identity": "all", "limit": 20, "window": "1m", "cost": "header:x-cost", "algorithm": "fixed_window"},
		{"name": "user", "identity": "user", "limit": 1, "window": "1m", "algorithm": "fixed_window"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u", "x-cost", "2"))
	s := r.get("/a", "x-user", "u", "x-cost", "5")
	r.want("429", s)
	if got, want := s.Client().Headers.Get("ratelimit"), `"all";r=18;t=60, "user";r=0;t=60`; got != want {
		t.Errorf("RateLimit %s, want %s", got, want)
	}
}

// Two limits with one count are charged the larger cost, and it is given back
// whole, also where the other one would not have let the request pass.
func TestCostFromAHeaderBesideALimitThatSharesItsCount(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "requests", "identity": "ip", "limit": 10, "window": "1m"},
		{"name": "units", "identity": "ip", "limit": 4, "window": "1m", "cost": "header:x-cost", "enforce_percent": 0},
		{"name": "user", "identity": "user", "limit": 1, "window": "1h"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u", "x-cost", "3"))
	if got := r.count(pricedKey, "w60"); got != 3 {
		t.Errorf("%d count, want 3", got)
	}
	s := r.get("/a", "x-user", "u", "x-cost", "2")
	r.want("429", s)
	if got := r.count(pricedKey, "w60"); got != 3 {
		t.Errorf("%d count after a refusal, want 3", got)
	}
}

func TestCostFromAHeaderOfARequestWithABody(t *testing.T) {
	r := onRedis(t, `{"identities": {"u": {"from": "body:u"}}, "routes": {"POST /a": {"identity": "u", "limit": 10, "window": "1m", "cost": "header:x-cost"}}, "default": null}`)
	s := r.plugin.NewStream()
	s.SendHeaders(hosttest.RequestHeaders("POST", "h", "/a", "content-type", jsonType, "x-cost", "6"), false)
	s.SendBody([]byte(`{"u":`), false)
	s.SendBody([]byte(`"x"}`), true)
	r.deliver()
	r.want("passed", s)
	if got := r.count("rl:{POST:/a|u:x}", "w60"); got != 6 {
		t.Errorf("%d count, want 6", got)
	}
}
