package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestG31_NothingConfiguredLimitsNothing(t *testing.T) {
	for _, raw := range []string{"", " \r\n\t", "{}", " { } ", "null", `{"$schema": "https://example.com/x.json"}`} {
		p, err := Parse([]byte(raw), noEnv)
		if err != nil || !p.Empty || p.Match("GET", "", "/", new(Matched)) != nil {
			t.Errorf("%q: %+v, %v", raw, p, err)
		}
	}
	p := mustParse(t, `{"mode": "enforce"}`)
	if p.Empty {
		t.Error("a configuration with a field is not empty")
	}
}

func TestG31_WhatIsNoConfigurationIsRefused(t *testing.T) {
	for _, raw := range []string{"[]", "0", `""`, "true", "{", "\xef\xbb\xbf{}", "\x00", strings.Repeat(" ", 4<<20) + "{}"} {
		if p, err := Parse([]byte(raw), noEnv); err == nil || p != nil {
			t.Errorf("%.20q: %+v, %v", raw, p, err)
		}
	}
}

func TestG30_EveryNumberIsHonouredExactlyOrRefused(t *testing.T) {
	limit := func(value string) string {
		return `{"default": {"identity": "ip", "limit": ` + value + `, "window": "1m"}}`
	}
	for value, want := range map[string]int64{"0": 0, "10": 10, "1e3": 1000, "10.0": 10, "1000000000": 1000000000} {
		if got := mustParse(t, limit(value)).Default.Limits[0].Limit.Limit; got != want {
			t.Errorf("limit %s: got %d, want %d", value, got, want)
		}
	}
	bucket := `{"default": {"identity": "ip", "limit": 30000000000, "window": "1s", "algorithm": "token_bucket"}}`
	if got := mustParse(t, bucket).Default.Limits[0].Limit.Limit; got != 30000000000 {
		t.Errorf("a limit over 32 bits became %d", got)
	}
	for _, value := range []string{"-1", "1.7", `"10"`, "1e16", "1e400", "1e-3", "true", "null", "[]", "{}"} {
		if _, err := Parse([]byte(limit(value)), noEnv); err == nil || !strings.Contains(err.Error(), "default.limit: ") {
			t.Errorf("limit %s: %v", value, err)
		}
	}
}

func TestG30_EveryWindowIsHonouredExactlyOrRefused(t *testing.T) {
	window := func(value string) string {
		return `{"default": {"identity": "ip", "limit": 1, "window": ` + value + `}}`
	}
	for value, want := range map[string]time.Duration{`"1s"`: time.Second, `"365d"`: 365 * 24 * time.Hour, `"1000ms"`: time.Second, `"1h30m"`: 90 * time.Minute} {
		if got := mustParse(t, window(value)).Default.Limits[0].Window; got != want {
			t.Errorf("window %s: got %v, want %v", value, got, want)
		}
	}
	for _, value := range []string{"0", `"0"`, `"0s"`, `"-1s"`, `"500ms"`, `"1500ms"`, `"366d"`, `"1w"`, `""`, "60", `"60"`, "null"} {
		if _, err := Parse([]byte(window(value)), noEnv); err == nil || !strings.Contains(err.Error(), "default.window: ") {
			t.Errorf("window %s: %v", value, err)
		}
	}
}

func TestG30_LimitOfZeroBlocks(t *testing.T) {
	p := mustParse(t, `{"default": {"limits": [{"name": "open", "identity": "ip", "limit": 1, "window": "1m"}, {"name": "shut", "identity": "ip", "limit": 0, "window": "1m"}]}}`)
	if p.Default.Blocked == nil || p.Default.Blocked.Name != "shut" {
		t.Errorf("blocked by %+v", p.Default.Blocked)
	}
}

func TestG30_FiveThousandRoutesAreReadInWellUnderASecond(t *testing.T) {
	raw := manyRoutes(5000)
	var p *Policy
	best := time.Hour
	for range 3 { // the best of three, since others use the machine, too
		start := time.Now()
		p = mustParse(t, string(raw))
		best = min(best, time.Since(start))
	}
	if len(p.Routes) != 5000 {
		t.Fatalf("%d routes", len(p.Routes))
	}
	if best > 700*time.Millisecond {
		t.Errorf("took %v", best)
	}
	for _, i := range []int{0, 1, 2500, 4999} {
		if got, want := keyOf(p.Match("POST", "", fmt.Sprintf("/api/v%d/7/x", i), new(Matched))), fmt.Sprintf("POST:/api/v%d/:id/x", i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func manyRoutes(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"default": null, "routes": {`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `"POST /api/v%d/:id/x": {"on_error": "closed", "limits": [{"identity": "ip", "limit": %d, "window": "1m"}, {"identity": "ip", "limit": %d, "window": "1h"}]}`, i, i+1, i+100)
	}
	b.WriteString(`}}`)
	return []byte(b.String())
}

// FuzzParse: no text makes it panic; what is accepted is whole, and what is
// refused says why.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
		if err != nil || len(paths) == 0 {
			f.Fatal("no seeds: ", err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse(raw, testEnv)
		if err != nil {
			if p != nil || len(err.(Errors)) == 0 || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		for _, r := range p.Routes {
			checkRoute(t, r)
		}
		if p.Default != nil {
			checkRoute(t, p.Default)
		}
		if p.Match("GET", "h", "/a/b", new(Matched)) == nil && p.Default != nil && p.Mode != Off && !p.RefuseUndeclared {
			t.Fatal("a request has neither a route nor the default")
		}
	})
}

// checkRoute holds a route to what its readers rely on.
func checkRoute(t *testing.T, r *Route) {
	t.Helper()
	names := map[string]bool{}
	if r.Key == "" || strings.ContainsAny(r.Key, "{}|; \"") {
		t.Fatalf("key %q", r.Key)
	}
	for i, l := range r.Limits {
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		if l.Route != r || l.Identity == nil || l.Cost < 1 || l.Name == "" || l.sameKey > i || names[strings.ToLower(l.Name)] {
			t.Fatalf("limit %d of %s: %+v", i, r.Key, l)
		}
		names[strings.ToLower(l.Name)] = true
	}
	plan := new(Plan)
	r.Plan(requestOf(from("203.0.113.7"), nil, ""), plan)
	planned := 0
	for _, g := range plan.Groups {
		planned += len(g.Limits)
		if key := string(g.Key); strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 || len(g.Limits) != len(g.Charges) {
			t.Fatalf("group %+v", g)
		}
	}
	if planned != len(r.Limits) {
		t.Fatalf("%d of %d limits planned", planned, len(r.Limits))
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprintf("routes=%d", n), func(b *testing.B) {
			raw := manyRoutes(n)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(raw, noEnv); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestG20_ABurstOrACostBelowOneIsRefusedAtLoad(t *testing.T) {
	for fields, want := range map[string]string{
		`"algorithm": "token_bucket", "burst": 0`:  "default.burst: 0 is out of range; write a whole number from 1",
		`"algorithm": "token_bucket", "burst": -1`: "default.burst: -1 is out of range",
		`"cost": 0`:   "default.cost: 0 is out of range; write a whole number from 1",
		`"cost": -1`:  "default.cost: -1 is out of range",
		`"cost": 0.5`: "default.cost: 0.5 is not whole",
	} {
		_, err := Parse([]byte(`{"default": {"identity": "ip", "limit": 5, "window": "1m", `+fields+`}}`), noEnv)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
}
