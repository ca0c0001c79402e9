package policy

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routelimit/limit"
	"routelimit/policy/identity"
)

// The policy of the README, field by field.
func TestReadmePolicyIsReadFieldByField(t *testing.T) {
	raw, err := os.ReadFile("testdata/good/readme.json")
	if err != nil {
		t.Fatal(err)
	}
	got := mustParse(t, string(raw))

	login := &Route{Key: "POST:/login", Template: "POST /login", OnError: Closed, NeverUnasked: true, NeedsBody: true}
	login.Limits = []*Limit{
		{
			Name: "pair", Cost: 1, EnforcePercent: 100, Route: login,
			Limit:  limit.Limit{Algorithm: limit.SlidingLog, Limit: 10, Window: 5 * time.Minute},
			Labels: Labels{Route: "POST:/login", Limit: "pair", Identity: "ip+username", Algorithm: "sliding_log", Window: "5m"},
		},
		{
			Name: "account", Cost: 1, EnforcePercent: 100, Route: login, Count: []int{401, 403},
			Limit:  limit.Limit{Limit: 50, Window: time.Hour},
			Labels: Labels{Route: "POST:/login", Limit: "account", Identity: "username", Algorithm: "sliding_window", Window: "1h"},
		},
		{
			Name: "address", Cost: 1, EnforcePercent: 100, Route: login,
			Limit:  limit.Limit{Limit: 100, Window: 5 * time.Minute},
			Labels: Labels{Route: "POST:/login", Limit: "address", Identity: "ip", Algorithm: "sliding_window", Window: "5m"},
		},
	}
	want := new(Policy)
	want.Redis.Cluster = "routelimit"
	want.Redis.Timeout = 50 * time.Millisecond
	want.Redis.KeyPrefix = "rl"
	want.Body.MaxBytes = 16384
	want.Body.Timeout = 5 * time.Second
	want.DenyCache.MaxEntries = 8192
	want.DenyCache.MaxTime = 30 * time.Second
	want.Breaker.Failures = 5
	want.Breaker.MaxDelay = time.Second
	want.Local.SharePercent = 10
	want.NeverUnasked = true
	want.Routes = []*Route{
		login,
		oneLimit("GET:/api/search", "GET /api/search", "api_key", 300),
		oneLimit("POST:/orders", "POST /orders", "user_id", 30),
	}
	want.Default = oneLimit("default", "", "user_id|ip", 120)

	if diff := cmp.Diff(want, got, exported); diff != "" {
		t.Error(diff)
	}
	for i, wantText := range []string{"ip+username", "username", "ip"} {
		if text := got.Routes[0].Limits[i].Identity.String(); text != wantText {
			t.Errorf("limit %d has the identity %s, want %s", i, text, wantText)
		}
	}
}

// exported compares what other packages see.
var exported = cmp.Options{
	cmpopts.IgnoreUnexported(Policy{}, Route{}, Limit{}, identity.Exempt{}), cmpopts.IgnoreTypes((*identity.Expr)(nil)), cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(netip.Prefix{}),
	cmp.Comparer(func(a, b identity.Source) bool { return a.String() == b.String() }),
}

func oneLimit(key, template, identity string, quota int64) *Route {
	r := &Route{Key: key, Template: template, OneKey: true, Lasting: true}
	r.Limits = []*Limit{{
		Name: identity, Cost: 1, EnforcePercent: 100, Route: r,
		Limit:  limit.Limit{Limit: quota, Window: time.Minute},
		Labels: Labels{Route: key, Limit: identity, Identity: identity, Algorithm: "sliding_window", Window: "1m"},
	}}
	return r
}

func mustParse(t testing.TB, raw string) *Policy {
	t.Helper()
	p, err := Parse([]byte(raw), noEnv)
	if err != nil {
		t.Fatalf("%s\n%v", raw, err)
	}
	return p
}

func noEnv(string) (string, bool) { return "", false }
