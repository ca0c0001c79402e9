package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What of a limit depends on who is calling, and on what.

var plans = listen("plans", `{
	"identities": {"user_id": {"from": "metadata:envoy.filters.http.jwt_authn/payload/sub"}},
	"routes": {"GET /search": {"identity": "user_id|ip", "window": "24h", "algorithm": "fixed_window", "on_error": "closed",
		"limit": {"by": "metadata:envoy.filters.http.jwt_authn/payload/plan", "values": {"gold": 5, "free": 2, "trial": 0}, "default": 1}}},
	"default": null}`)

func TestPlanOfAVerifiedTokenSetsTheLimit(t *testing.T) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	c := dial(t, e, plans, "127.0.3.1")
	search := func(sub, plan string) answer {
		return c.get("/search", "authorization", bearer(t, tree{"sub": sub, "plan": plan}))
	}
	for plan, limit := range map[string]int{"gold": 5, "free": 2, "unheard of": 1} {
		for i := range limit {
			checkPassed(t, search("u-"+plan, plan), limit, limit-1-i)
		}
		checkRefused(t, search("u-"+plan, plan), limit, day)
	}
	checkPassed(t, c.get("/search"), 1, 0) // no token, no plan

	// Whoever pays more keeps what was counted, and whoever pays less again, too.
	for i := range 3 {
		checkPassed(t, search("u-free", "gold"), 5, 2-i)
	}
	checkRefused(t, search("u-free", "free"), 2, day)

	a := search("u-trial", "trial")
	if a.status != http.StatusTooManyRequests || a.number("x-ratelimit-limit") != 0 || a.header.Get("retry-after") != "" {
		t.Errorf("a plan of 0: status %d, headers %v", a.status, a.header)
	}
	if keys := keysNow(t); slices.Contains(keys, "rl:{GET:/search|user_id:u-trial}") || len(keys) != 4 {
		t.Errorf("keys %q, want those of three users and an address", keys)
	}
}

var costs = listen("costs", `{
	"identities": {"user": {"from": "header:x-user"}},
	"routes": {"GET /query": {"on_error": "closed", "limits": [
		{"name": "units", "identity": "ip", "limit": 100, "window": "24h", "algorithm": "fixed_window", "cost": "header:x-query-cost"},
		{"name": "user", "identity": "user", "limit": 3, "window": "24h", "algorithm": "fixed_window"}]}},
	"default": null}`)

func TestCostOfAHeaderIsChargedAndGivenBack(t *testing.T) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	unread := total(t, e, `routelimit_identity_total{kind="cost_unread"}`)
	c := dial(t, e, costs, "127.0.3.2")
	const key = "rl:{GET:/query|ip:127.0.3.2}"
	units := func(want int64) {
		t.Helper()
		eventually(t, "what was charged", func() error {
			return differ(counts{"w86400": want}, stored(t, store.get(t).Client(), key))
		})
	}
	ask := func(status int, user string, lines ...string) answer {
		t.Helper()
		a := c.get("/query", append(lines, "x-user", user)...)
		if a.status != status {
			t.Fatalf("%q: status %d, want %d", lines, a.status, status)
		}
		return a
	}
	ask(200, "a", "x-query-cost", "40")
	units(40)
	ask(200, "a")
	ask(200, "a", "x-query-cost", "7", "x-query-cost", "7")
	units(42)
	ask(429, "a", "x-query-cost", "30") // the user's limit refuses, and the units come back
	units(42)
	if a := ask(429, "b", "x-query-cost", "101"); a.header.Get("retry-after") != "" {
		t.Errorf("retry-after %q; waiting does not help", a.header.Get("retry-after"))
	}
	ask(200, "b", "x-query-cost", "58")
	units(100)
	ask(429, "b", "x-query-cost", "1")
	if got := total(t, e, `routelimit_identity_total{kind="cost_unread"}`) - unread; got != 2 {
		t.Errorf("%d costs that could not be read, want 2", got)
	}
}

func percentPolicy(percent int) string {
	return fmt.Sprintf(`{"routes": {"GET /tried": {"identity": "ip", "limit": 2, "window": "24h", "algorithm": "fixed_window", "on_error": "closed", "enforce_percent": %d}},
		"default": null}`, percent)
}

var (
	half = listen("half", percentPolicy(50))
	most = listen("most", percentPolicy(80))
)

func TestEnforcePercentHoldsForTheSameCallersEverywhere(t *testing.T) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	const callers = 40
	from := func(i int) string { return fmt.Sprintf("127.0.4.%d", i+1) }
	// refused are the callers who are refused at a place when they ask so often more.
	refused := func(envoy, times int, p *place) (list []int) {
		at := e
		if envoy == 2 {
			at = second.get(t)
			showLog(t, at)
		}
		for i := range callers {
			c := dial(t, at, p, from(i))
			for n := range times {
				switch a := c.get("/tried"); {
				case a.status == http.StatusTooManyRequests && n < times-1 || a.status != http.StatusTooManyRequests && a.status != http.StatusOK:
					t.Fatalf("caller %d, request %d: status %d", i, n, a.status)
				case a.status == http.StatusTooManyRequests:
					list = append(list, i)
				}
			}
		}
		return list
	}
	some := refused(1, 3, half)
	if len(some) < 8 || len(some) > 32 {
		t.Errorf("%d of %d callers are refused, want about half", len(some), callers)
	}
	if diff := cmp.Diff(some, refused(2, 1, half)); diff != "" {
		t.Errorf("who is refused by another Envoy (-first +second):\n%s", diff)
	}
	// The others were counted all the same: at a higher percentage they are refused at once.
	more := refused(1, 1, most)
	if len(more) <= len(some) {
		t.Errorf("%d callers are refused at 80%%, %d at 50%%", len(more), len(some))
	}
	for _, i := range some {
		if !slices.Contains(more, i) {
			t.Errorf("caller %d is refused at 50%%, and not at 80%%", i)
		}
	}
	for i := range callers {
		if diff := cmp.Diff(counts{"w86400": 2}, stored(t, store.get(t).Client(), "rl:{GET:/tried|ip:"+from(i)+"}")); diff != "" {
			t.Errorf("caller %d: %s", i, diff)
		}
	}
}
