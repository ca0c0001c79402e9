//go:build !wasip1

package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

const localRoute = `{"routes": {"GET /a": {"name": "perMinute", "identity": "ip", "limit": 100, "window": "1m", "on_error": "local"}}, "default": null}`

// During an outage each caller has his share in this worker, and is refused above
// it, with a Retry-After after which he passes.
func TestG27_LocalBucketsWhileRedisDoesNotAnswer(t *testing.T) {
	r := onScript(t, always("-LOADING Redis is loading the dataset in memory\r\n"), localRoute)
	for i := range 10 {
		s := r.get("/a")
		r.want("passed", s, i)
		if got := s.FilterState()["wasm.routelimit.outcome"]; got != "local_passed" {
			t.Errorf("filter state %q", got)
		}
		respond(s, "200")
		if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "" {
			t.Errorf("X-RateLimit-Limit %s, though Redis has not said it", got)
		}
	}
	s := r.get("/a")
	r.want("429", s)
	h := s.Client().Headers
	for name, want := range map[string]string{"retry-after": "6", "x-ratelimit-limit": "100", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "6"} {
		if h.Get(name) != want {
			t.Errorf("%s: %s, want %s", name, h.Get(name), want)
		}
	}
	if got := s.Details(); got != "routelimit_local_refused{perMinute}" {
		t.Errorf("details %s", got)
	}
	if got := s.FilterState(); got["wasm.routelimit.outcome"] != "local_refused" || got["wasm.routelimit.limit"] != "perMinute" {
		t.Errorf("filter state %v", got)
	}
	if n := r.logged(`"limit":"perMinute","key":"ip","quota":100,"window":"1m","identity":"ip:203.0.113.7","local":true}`); n != 1 {
		t.Errorf("%d lines of the refusal", n)
	}
	r.want("passed", r.from("203.0.113.8:1", "/a"), "another caller")

	wait, _ := strconv.Atoi(h.Get("retry-after"))
	r.clock.Advance(time.Duration(wait)*time.Second - ms)
	r.want("429", r.get("/a"), "before Retry-After")
	r.clock.Advance(ms)
	r.want("passed", r.get("/a"), "after Retry-After")

	r.wantCounter(12, r.requests("GET:/a", "", "local_passed"), "local_passed")
	r.wantCounter(2, r.requests("GET:/a", "", "local_refused"), "local_refused")
	r.wantCounter(0, r.requests("GET:/a", "", "open"), "open")
	r.script.Reply = allow
	r.want("passed", r.get("/a"), "Redis decides again")
	r.wantCounter(1, r.requests("GET:/a", "perMinute", "passed"), "passed")
}

// E Envoys of W workers admit at most E W (b + r t/W) in an outage of t, as
// algorithms.md says; here 2 of 2, 10 each at first, and 10 a minute.
func TestG27_WhatAFleetLetsPassInAnOutage(t *testing.T) {
	const envoys, workers, minutes = 2, 2, 3
	passed := 0
	for range envoys {
		r := onScript(t, always("-upstream failure\r\n"), localRoute)
		plugins := []*hosttest.Plugin{r.plugin}
		for len(plugins) < workers {
			vm, err := r.host.NewVM(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { vm.Close() })
			p, err := vm.NewPlugin([]byte(localRoute))
			if err != nil {
				t.Fatal(err)
			}
			plugins = append(plugins, p)
		}
		for range minutes * 60 {
			for _, p := range plugins {
				for range 3 {
					s := r.sendTo(p, "GET", "/a", "")
					r.deliver()
					if fate(s) == "passed" {
						passed++
					}
				}
			}
			r.clock.Advance(time.Second)
		}
	}
	bound := envoys * workers * (10 + 10*minutes)
	if passed > bound || passed < bound-envoys*workers {
		t.Errorf("%d passed, the bound is %d", passed, bound)
	}
}

// All limits have to let a request pass, and none is charged for one that another
// refuses; what Redis did decide is not asked again, and is given back.
func TestLocalBucketsAreAllOrNothing(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte {
		if keyOf(c) == allKey {
			return []byte("-CLUSTERDOWN Hash slot not served\r\n")
		}
		return allow(c)
	}, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"on_error": "local", "limits": [
		{"name": "user", "identity": "user", "limit": 5, "window": "1m"},
		{"name": "shadow", "identity": "all", "limit": 1, "window": "1m", "shadow": true},
		{"name": "slow", "identity": "all", "limit": 10, "window": "1m"},
		{"name": "quick", "identity": "all", "limit": 30, "window": "1s"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u"))
	s := r.get("/a", "x-user", "u")
	r.want("429", s)
	r.deliver()
	if got := s.Client().Headers.Get("retry-after"); got != "60" {
		t.Errorf("Retry-After %s, want 60: the slow one's share is 1 in a minute", got)
	}
	if got := s.FilterState()["wasm.routelimit.limit"]; got != "slow" {
		t.Errorf("the limit is %s", got)
	}
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds of what Redis had charged")
}

func TestLocalNeverPassesWhatNeverPasses(t *testing.T) {
	r := onScript(t, always("-upstream failure\r\n"), `{"routes": {"GET /a": {"identity": "ip", "limit": 5, "cost": 6, "window": "1m", "on_error": "local"}}, "default": null}`)
	s := r.get("/a")
	r.want("429", s)
	if got := s.Client().Headers.Values("retry-after"); got != nil {
		t.Errorf("Retry-After %q; waiting does not help", got)
	}
}

func TestLocalShareIsConfigurable(t *testing.T) {
	r := onScript(t, always("-upstream failure\r\n"), section(`"local": {"share_percent": 50}`, localRoute))
	if got := r.passes(100); got != 50 {
		t.Errorf("%d of 100 passed, want 50", got)
	}
}

// The share is that of the caller's own limit, for what his request costs, and only
// where it is enforced for him.
func TestLocalGoesByPlanCostAndPercentage(t *testing.T) {
	r := onScript(t, always("-upstream failure\r\n"), `{"routes": {
		"GET /a": {"identity": "ip", "window": "1m", "on_error": "local", "cost": "header:x-cost",
			"limit": {"by": "header:x-plan", "values": {"gold": 100}, "default": 10}},
		"GET /b": {"identity": "ip", "window": "1m", "on_error": "local", "limit": 10, "enforce_percent": 0}}, "default": null}`)
	for i := range 5 {
		r.want("passed", r.get("/a", "x-plan", "gold", "x-cost", "2"), i)
	}
	s := r.get("/a", "x-plan", "gold", "x-cost", "2")
	r.want("429", s)
	if got := s.Client().Headers.Get("x-ratelimit-limit"); got != "100" {
		t.Errorf("X-RateLimit-Limit %s, want the plan's 100", got)
	}
	r.want("429", r.get("/a", "x-cost", "11"), "more than the limit of no plan")
	for range 20 {
		r.want("passed", r.get("/b"))
	}
}

// Each way in which no decision comes leads to the same place.
func TestLocalDecidesWhateverFails(t *testing.T) {
	for name, fail := range map[string]func(r *rig){
		"timeout":      func(r *rig) { r.clock.Advance(60 * ms) },
		"disconnected": func(r *rig) { r.script.CloseAll(13, "") },
		"bad_reply":    func(r *rig) { r.script.Stream().Deliver([]byte("?")) },
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, nil, section(`"local": {"share_percent": 1}`, unbroken(localRoute)))
			for _, want := range []string{"passed", "429"} {
				s := r.send("GET", "/a", "")
				fail(r)
				r.want(want, s)
				r.clock.Advance(2 * time.Second)
			}
			r.wantCounter(2, r.failures(name), name)
		})
	}
}

// A flood of callers in an outage gives nobody a second share.
func TestLocalBucketsOfAFlood(t *testing.T) {
	r := onScript(t, always("-upstream failure\r\n"), strings.Replace(localRoute, `"limit": 100`, `"limit": 1`, 1))
	r.want("passed", r.get("/a"))
	passed := 0
	for i := range 17_000 {
		if fate(r.from(fmt.Sprintf("198.51.%d.%d:1", i>>8, i&255), "/a")) == "passed" {
			passed++
		}
	}
	if passed != 16_383 {
		t.Errorf("%d callers of 17,000 passed, want as many as there are buckets", passed)
	}
	r.want("429", r.get("/a"))
}
