//go:build !wasip1

package main_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of these two one hashes to cohort 12 of 100, the other to 77: at 50 percent the
// first is enforced and the second is not.
const (
	enforcedClient = "203.0.113.7"
	triedClient    = "203.0.113.8"
)

func percent(n int) string {
	return fmt.Sprintf(`{"routes": {"GET /a": {"limits": [
		{"name": "new", "identity": "ip", "limit": 2, "window": "1m", "enforce_percent": %d},
		{"name": "old", "identity": "ip", "limit": 5, "window": "1h"}]}}, "default": null}`, n)
}

// fates sends requests from an address and returns what became of them.
func (r *rig) fates(address string, n int) (all []string) {
	for range n {
		all = append(all, fate(r.from(address+":40000", "/a")))
	}
	return all
}

func (r *rig) wantFates(address string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.fates(address, len(want))); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", address, diff)
	}
}

func TestEnforcePercentRefusesSomeCallersAndCountsForAll(t *testing.T) {
	r := onRedis(t, percent(50))
	r.wantFates(enforcedClient, "passed", "passed", "429", "429")
	r.wantFates(triedClient, "passed", "passed", "passed", "passed", "passed", "429")
	// Both charge the same field alike; the tried one what it would have let pass.
	for address, hour := range map[string]int{enforcedClient: 2, triedClient: 5} {
		want := map[string]string{"w60": "1729771200 2 0", "w3600": fmt.Sprintf("1729771200 %d 0", hour)}
		if diff := cmp.Diff(want, r.stored("rl:{GET:/a|ip:"+address+"}")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
	r.wantCounter(4, r.requests("GET:/a", "new", "passed"), "new passed")
	r.wantCounter(2, r.requests("GET:/a", "new", "refused"), "new refused")
	r.wantCounter(4, r.requests("GET:/a", "new", "shadow_refused"), "new shadow_refused")
	r.wantCounter(1, r.requests("GET:/a", "old", "refused"), "old refused")
	if n := r.logged(`"limit":"new","key":"ip","quota":2,"window":"1m","identity":"ip:203.0.113.8","shadow":true`); n != 4 {
		t.Errorf("%d lines of shadow refusals, want 4", n)
	}
}

func TestEnforcePercentIsInNoHeaderOfThoseItSpares(t *testing.T) {
	r := onRedis(t, percent(50))
	for address, want := range map[string]string{enforcedClient: "2", triedClient: "5"} {
		s := r.from(address+":40000", "/a")
		r.want("passed", s)
		respond(s, "200")
		if got := s.Client().Headers.Get("x-ratelimit-limit"); got != want {
			t.Errorf("%s: X-RateLimit-Limit %s, want %s", address, got, want)
		}
	}
}

// Raising the percentage finds everybody where he stands, and so does leaving
// the field away.
func TestRaisingEnforcePercentDoesNotStartEmpty(t *testing.T) {
	for name, after := range map[string]string{
		"raised": percent(80), "all": percent(100),
		"left away": `{"routes": {"GET /a": {"name": "new", "identity": "ip", "limit": 2, "window": "1m"}}, "default": null}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, percent(50))
			r.wantFates(triedClient, "passed", "passed", "passed")
			r.wantFates(enforcedClient, "passed")
			old := r.plugin
			r.plugin = r.configure(after)
			old.Close()
			r.wantFates(triedClient, "429")
			r.wantFates(enforcedClient, "passed", "429")
			r.plugin = r.configure(percent(0))
			r.wantFates(enforcedClient, "passed")
		})
	}
}

func TestEnforcePercentSparesCallersWhenRedisFails(t *testing.T) {
	const policy = `{"routes": {"GET /a": {"on_error": "closed", "identity": "ip", "limit": 2, "window": "1m", "enforce_percent": 50}}, "default": null}`
	r := onScript(t, always("-OOM command not allowed\r\n"), policy)
	r.wantFates(enforcedClient, "503")
	r.wantFates(triedClient, "passed")
	r.wantCounter(2, r.failures("oom"), "failures")
}

// What another identity refuses is given back to a limit that spares the caller.
func TestARefundReachesALimitThatSparesTheCaller(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}}, "routes": {"GET /a": {"limits": [
		{"name": "new", "identity": "all", "limit": 3, "window": "1m", "enforce_percent": 0},
		{"name": "user", "identity": "user", "limit": 1, "window": "1m"}]}}, "default": null}`)
	r.want("passed", r.get("/a", "x-user", "u"))
	for range 5 {
		r.want("429", r.get("/a", "x-user", "u"))
	}
	if got := r.count(allKey, "w60"); got != 1 {
		t.Errorf("%d count, want 1", got)
	}
	for i := range 5 {
		r.want("passed", r.get("/a", "x-user", fmt.Sprint(i)))
	}
	if got := r.count(allKey, "w60"); got != 3 {
		t.Errorf("%d count, want 3: what it would have refused is not charged", got)
	}
}

// With plans and a cost from a header: the three together.
func TestPercentPlanAndCostTogether(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "window": "1m", "cost": "header:x-cost", "enforce_percent": 50,
		"limit": {"by": "header:x-plan", "values": {"gold": 10}, "default": 4}}}, "default": null}`)
	r.want("passed", r.get("/a", "x-plan", "gold", "x-cost", "6"))
	r.want("429", r.get("/a", "x-plan", "gold", "x-cost", "5"))
	r.want("429", r.get("/a", "x-cost", "1"))
	r.want("passed", r.get("/a", "x-plan", "gold", "x-cost", "4"))
	if got := r.count(pricedKey, "w60"); got != 10 {
		t.Errorf("%d count, want 10", got)
	}
}
