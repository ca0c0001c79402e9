//go:build !wasip1

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

// planned is a policy with one limit that depends on the header x-plan.
func planned(fields string) string {
	return fmt.Sprintf(`{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"name": "plan", "identity": "user|ip", "window": "1h",
		"limit": {"by": "header:x-plan", "values": {"gold": 5, "free": 2, "trial": 0}, "default": 1} %s}}, "default": null}`, fields)
}

func TestPlansGiveEachCallerItsOwnLimit(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window", "sliding_log", "token_bucket"} {
		t.Run(algorithm, func(t *testing.T) {
			r := onRedis(t, planned(`, "algorithm": "`+algorithm+`"`))
			for plan, limit := range map[string]int{"gold": 5, "free": 2, "unheard of": 1, "": 1} {
				for i := range limit + 2 {
					s := r.get("/a", "x-user", "u-"+plan, "x-plan", plan)
					want := "passed"
					if i >= limit {
						want = "429"
					}
					r.want(want, s, plan, i)
					respond(s, "200")
					h := s.Client().Headers
					if h.Get("x-ratelimit-limit") != fmt.Sprint(limit) || h.Get("x-ratelimit-remaining") != fmt.Sprint(max(0, limit-1-i)) {
						t.Errorf("plan %q, request %d: limit %s, remaining %s", plan, i+1, h.Get("x-ratelimit-limit"), h.Get("x-ratelimit-remaining"))
					}
				}
				if n := r.logged(fmt.Sprintf(`"limit":"plan","key":"user|ip","quota":%d,`, limit)); n < 2 {
					t.Errorf("plan %q: %d lines name its limit", plan, n)
				}
			}
			r.wantCounter(3, r.counter("routelimit_identity_total", "kind", "plan_unknown"), "plan_unknown")
		})
	}
}

func TestPlanFromVerifiedMetadata(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "window": "1h", "limit": {"by": "metadata:envoy.filters.http.jwt_authn/payload/plan", "values": {"gold": 3}, "default": 1}}}, "default": null}`)
	passed := 0
	for range 5 {
		s := r.plugin.NewStream()
		s.SetProperty([]byte(client), "source", "address")
		s.SetProperty([]byte("gold"), "metadata", "filter_metadata", "envoy.filters.http.jwt_authn", "payload", "plan")
		s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/a"), true)
		r.deliver()
		if fate(s) == "passed" {
			passed++
		}
	}
	if passed != 3 {
		t.Errorf("%d passed, want 3", passed)
	}
}

// A key does not depend on the plan, so what was used stays used.
func TestCountsStayWhenACallerChangesItsPlan(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window", "sliding_log", "token_bucket"} {
		t.Run(algorithm, func(t *testing.T) {
			r := onRedis(t, planned(`, "algorithm": "`+algorithm+`"`))
			pass := func(plan string, tries, want int) {
				t.Helper()
				passed := 0
				for range tries {
					if fate(r.get("/a", "x-user", "u", "x-plan", plan)) == "passed" {
						passed++
					}
				}
				if passed != want {
					t.Errorf("%s: %d passed, want %d", plan, passed, want)
				}
			}
			pass("free", 3, 2)
			pass("gold", 5, 3)
			pass("free", 2, 0)
			s := r.get("/a", "x-user", "u", "x-plan", "free")
			if got := s.Client().Headers.Get("x-ratelimit-remaining"); got != "0" {
				t.Errorf("remaining %s after a downgrade, want 0", got)
			}
			if keys := r.keys(); len(keys) != 1 || strings.Contains(keys[0], "gold") {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

func TestPlanOfZeroIsRefusedWithoutAsking(t *testing.T) {
	for name, c := range map[string]struct{ fields, identity string }{
		"plain":  {"", `"identity":"user:u"`},
		"closed": {`, "on_error": "closed"`, `"identity":"user:u"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, strings.Replace(planned(c.fields), "{", `{"headers": "x-ratelimit-epoch",`, 1))
			r.want("passed", r.get("/a", "x-user", "u", "x-plan", "gold"))
			asked := len(r.script.Commands())
			r.clock.Advance(time.Hour)
			s := r.get("/a", "x-user", "u", "x-plan", "trial")
			r.want("429", s)
			if got := len(r.script.Commands()); got != asked {
				t.Errorf("%d commands, Redis was asked", got-asked)
			}
			h := s.Client().Headers
			if h.Values("retry-after") != nil || h.Get("x-ratelimit-limit") != "0" || h.Values("x-ratelimit-reset") != nil {
				t.Errorf("headers %v", h)
			}
			r.wantCounter(1, r.requests("GET:/a", "plan", "refused"), "refused")
			if r.logged(`"quota":0,"window":"1h",`+c.identity) != 1 {
				t.Errorf("want one line:\n%s", r.vm.LogText())
			}
			if got := s.FilterState()["wasm.routelimit.limit"]; got != "plan" {
				t.Errorf("filter state names %q", got)
			}
			r.want("passed", r.get("/a", "x-user", "u", "x-plan", "gold"), "another plan afterwards")
		})
	}
}

// What only shadow limits say refuses nobody, a plan of 0 included.
func TestPlanOfZeroInShadowRefusesNobody(t *testing.T) {
	for _, fields := range []string{`, "shadow": true`, `, "enforce_percent": 0`} {
		r := onRedis(t, planned(fields))
		r.want("passed", r.get("/a", "x-plan", "trial"))
		r.wantCounter(1, r.requests("GET:/a", "plan", "shadow_refused"), "shadow_refused")
	}
}

// The refund is that of the request's own plan, though the next one has another.
func TestPlansOfRequestsInFlightDoNotMix(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "plan", "identity": "all", "window": "1m", "algorithm": "token_bucket", "limit": {"by": "header:x-plan", "values": {"gold": 60, "free": 6}, "default": 1}},
		{"name": "user", "identity": "user", "limit": 1, "window": "1h"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u", "x-plan", "gold"))
	before := r.stored(allKey)["b60"]
	var all []*hosttest.Stream
	for i := range 10 {
		all = append(all, r.send("GET", "/a", "", "x-user", "u", "x-plan", []string{"gold", "free"}[i%2]))
	}
	r.deliver()
	for i, s := range all {
		r.want("429", s, i)
	}
	if after := r.stored(allKey)["b60"]; after != before {
		t.Errorf("the bucket was %q and is %q", before, after)
	}
}

func TestG36_NoPlanInAnyMetricName(t *testing.T) {
	r := onRedis(t, planned(""))
	for _, plan := range []string{"gold", "free", "first"} {
		for range 7 {
			r.get("/a", "x-user", plan, "x-plan", plan)
		}
	}
	before := len(r.host.Metrics())
	for i := range 200 {
		r.get("/a", "x-user", "u", "x-plan", fmt.Sprint("invented-", i))
	}
	if after := len(r.host.Metrics()); after != before {
		t.Errorf("%d metrics after %d", after, before)
	}
	for _, name := range r.host.Metrics() {
		for _, plan := range []string{"gold", "free", "invented"} {
			if strings.Contains(name, plan) {
				t.Errorf("metric %s", name)
			}
		}
	}
}

// Plans, costs and percentages can be written in the metadata of Envoy's routes.
func TestPlansInRouteMetadata(t *testing.T) {
	r := onRedis(t, underMetadata)
	m := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "window": "30s", "cost": "header:x-cost",
		"limit": {"by": "header:x-plan", "values": {"gold": 3}, "default": 1}}`})
	r.want("passed", r.on(m, "/a"))
	r.want("429", r.on(m, "/a"))
}
