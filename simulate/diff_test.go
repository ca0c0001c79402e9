package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/accesslog"
	"routelimit/replay"
)

func compare(t *testing.T, old, new, text string) *Comparison {
	t.Helper()
	c, err := Compare(t.Context(), parse(t, old), parse(t, new), []accesslog.Input{{Name: "log", Reader: strings.NewReader(text)}},
		replay.Settings{}, Options{Read: options(t), Top: 2})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A sends 4, B 2 and C 1 to /a; A sends 3 to /b. By hand:
//
//	        old              new              lost  gained
//	/a      2 in 1m: A 2     1 in 1m: A 3 B 1  A 1 B 1
//	/b      1 in 1m: A 2     open                    A 2
func TestWhoGainsAndWhoLoses(t *testing.T) {
	var log strings.Builder
	for i, who := range strings.Split("A A A A B B C", " ") {
		log.WriteString(line(float64(i), "GET", "/a", address(who), 200))
	}
	for i := range 3 {
		log.WriteString(line(float64(10+i), "GET", "/b", address("A"), 200))
	}
	c := compare(t,
		`{"routes": {"GET /a": {"name": "n", "identity": "ip", "limit": 2, "window": "1m", "algorithm": "fixed_window"}}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`,
		`{"routes": {"GET /a": {"name": "n", "identity": "ip", "limit": 1, "window": "1m", "algorithm": "fixed_window"}, "GET /b": {"limits": []}}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`,
		log.String())
	if want := (Flow{10, 4, 4, 2, 2}); c.Flow != want {
		t.Errorf("flow %+v", c.Flow)
	}
	wantRoutes := []RouteChange{{"GET:/a", "GET:/a", Flow{7, 2, 4, 2, 0}}, {"default", "GET:/b", Flow{3, 2, 0, 0, 2}}}
	if diff := cmp.Diff(wantRoutes, c.Routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	wantLose := []Affected{{"GET:/a", "n", "ip:192.0.2.65", 1, at(1)}, {"GET:/a", "n", "ip:192.0.2.66", 1, at(5)}}
	wantGain := []Affected{{"default", "ip", "ip:192.0.2.65", 2, at(11)}}
	if diff := cmp.Diff(wantLose, c.Lose); diff != "" || c.Losing != 2 {
		t.Errorf("%d lose (-want +got):\n%s", c.Losing, diff)
	}
	if diff := cmp.Diff(wantGain, c.Gain); diff != "" || c.Gaining != 1 {
		t.Errorf("%d gain (-want +got):\n%s", c.Gaining, diff)
	}
	wantChanges := []string{`GET:/a, limit "n": 2 in 1m by fixed_window for ip -> 1 in 1m by fixed_window for ip`, "GET:/b: new"}
	if diff := cmp.Diff(wantChanges, c.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestRefusalsWithoutAnIdentityAreNamed(t *testing.T) {
	c := compare(t, `{"routes": {"GET /shut": {"limits": []}, "GET /gone": {"limits": []}}, "default": null}`,
		`{"routes": {"GET /shut": {"name": "n", "identity": "ip", "limit": 0, "window": "1m"}}, "undeclared": "refuse"}`,
		line(1, "GET", "/shut", "203.0.113.7", 200)+line(2, "GET", "/gone", "203.0.113.7", 200))
	want := []Affected{{"GET:/shut", "n", "everybody", 1, at(1)}, {NoRoute, "undeclared", Everybody, 1, at(2)}}
	if diff := cmp.Diff(want, c.Lose); diff != "" || c.Losing != 0 || c.AllLose != 2 {
		t.Errorf("%d identities, %d requests of everybody (-want +got):\n%s", c.Losing, c.AllLose, diff)
	}
}

func TestEveryChangeThatDecidesIsNamed(t *testing.T) {
	const base = `"identities": {"u": {"from": "header:u"}}, "routes": {"GET /a": {"name": "n", "identity": "u|ip", "limit": 1, "window": "1m"}}`
	old := "{" + base + `, "default": null}`
	for new, want := range map[string]string{
		old: "",
		"{" + base + `, "default": null, "mode": "shadow"}`:                                                                          "mode: enforce -> shadow",
		"{" + base + `, "default": null, "client": {"trusted_hops": 1}}`:                                                             "client: whom Envoy trusts, IPv6 by /64 -> 1 trusted hops, IPv6 by /64",
		"{" + base + `, "undeclared": "refuse"}`:                                                                                     "undeclared requests: by the default -> refused",
		"{" + base + `, "default": null, "count_preflights": true}`:                                                                  "preflights: not counted -> counted",
		"{" + base + `, "default": {"limits": []}}`:                                                                                  "default: new",
		strings.Replace(old, `"limit": 1`, `"limit": 1, "cost": 2`, 1):                                                               "for u|ip (header:u) -> 1 in 1m by sliding_window for u|ip (header:u), cost 2",
		strings.Replace(old, `"limit": 1`, `"limit": 1, "count": [401, 403]`, 1):                                                     "(header:u), counting 401, 403",
		strings.Replace(old, `"limit": 1`, `"limit": 1, "bucket": "b"`, 1):                                                           ", in bucket b",
		strings.Replace(old, `"limit": 1`, `"limit": 1, "shadow": true`, 1):                                                          ", shadow",
		strings.Replace(old, `"header:u"`, `"header:v", "fold": true`, 1):                                                            "(header:u) -> 1 in 1m by sliding_window for u|ip (header:v, folded)",
		strings.Replace(old, `"name": "n"`, `"name": "m"`, 1):                                                                        `limit "n": gone, was 1 in 1m`,
		strings.Replace(old, `GET /a`, `GET /b`, 1):                                                                                  "GET:/a: gone",
		strings.Replace(old, `"limit": 1,`, `"limit": 1, "exempt": ["10.0.0.0/8"],`, 1):                                              "GET:/a, exempt: nobody -> 10.0.0.0/8",
		strings.Replace(old, `"limit": 1,`, `"limit": 1, "exempt": ["u:0123456789abcdef"],`, 1):                                      "GET:/a, exempt: nobody -> u:0123456789abcdef",
		strings.Replace(old, `"limit": 1,`, `"limit": 1, "enforce_percent": 10,`, 1):                                                 "1 in 1m by sliding_window, for 10% of callers",
		strings.Replace(old, `"limit": 1,`, `"limit": {"by": "header:p", "values": {"x": 2}, "default": 1}, "cost": "header:c",`, 1): "1 in 1m by sliding_window, by header:p x 2 for u|ip (header:u), cost from header:c",
		"{" + base + `, "default": null, "ignore_path_case": true}`:                                                                  "paths: letter case counts, parameters are cut off -> letter case does not count, parameters are cut off",
		strings.Replace(old, `"limit": 1,`, `"limit": 1, "algorithm": "token_bucket", "burst": 5,`, 1):                               "by token_bucket with a burst of 5",
	} {
		got := strings.Join(changes(parse(t, old), parse(t, new)), "\n")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s\ngot %q, want %q", new, got, want)
		}
	}
}
