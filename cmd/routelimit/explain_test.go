package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bootstrap"
	"routelimit/described"
	"routelimit/policy/explain"
)

const (
	shipped = "../../envoy.yaml"
	alice   = `{"username": " Alice ", "password": "hush-hush"}`
)

// The whole text of one request is in a file; with UPDATE_GOLDEN set it is written anew.
func TestExplainPrintsEveryStep(t *testing.T) {
	code, out, stderr := call(t, "explain", "POST", "/x/../login?next=1", "--policy", shipped, "--from", "203.0.113.7",
		"-H", "Content-Type: application/json", "-d", alice)
	const golden = "testdata/explain-login.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("code %d, stderr %q\n%s", code, stderr, diff)
	}
}

// explained is the report of one call.
func explained(t *testing.T, args ...string) (int, *explain.Report) {
	t.Helper()
	code, out, stderr := call(t, append([]string{"explain", "--output", "json"}, args...)...)
	report := new(explain.Report)
	if err := json.Unmarshal([]byte(out), report); err != nil {
		t.Fatalf("%v: %v\nstdout %q, stderr %q", args, err, out, stderr)
	}
	return code, report
}

func TestExplainExitsOneWhereTheRequestIsRefused(t *testing.T) {
	path := write(t, "policy.json", `{"undeclared": "refuse", "routes": {"GET /open": {"limits": []}, "GET /shut": {"identity": "ip", "limit": 0, "window": "1m"}}}`)
	for url, want := range map[string]struct {
		code    int
		outcome explain.Outcome
	}{
		"/open": {exitOK, explain.Passes}, "/shut": {exitFindings, explain.Refused}, "/other": {exitFindings, explain.Refused},
	} {
		if code, report := explained(t, "GET", url, "--policy", path); code != want.code || report.Outcome != want.outcome {
			t.Errorf("%s: code %d, %s", url, code, report.Outcome)
		}
	}
}

func TestExplainOfAWrongPolicyNamesItsErrors(t *testing.T) {
	path := write(t, "policy.json", `{"default": {"identity": "ip", "limit": 1}, "mod": 1}`)
	code, out, stderr := call(t, "explain", "GET", "/", "--policy", path)
	if code != exitFindings || out != "" || !strings.Contains(stderr, `"window" is missing`) || !strings.Contains(stderr, `did you mean "mode"`) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

func TestExplainThatCannotBeReadExitsTwo(t *testing.T) {
	policy := write(t, "policy.json", "{}")
	other := write(t, "other.yaml", "admin: {}\n")
	for name, args := range map[string][]string{
		"no path":            {"GET", "login", "--policy", policy},
		"another scheme":     {"GET", "ftp://h/", "--policy", policy},
		"no host":            {"GET", "http:///a", "--policy", policy},
		"a blank":            {"GET", "/a b", "--policy", policy},
		"a header's name":    {"GET", "/", "--policy", policy, "-H", "S3cr3t"},
		"a header's blank":   {"GET", "/", "--policy", policy, "-H", "x S3cr3t: a"},
		"an address":         {"GET", "/", "--policy", policy, "--from", "localhost"},
		"no policy":          {"GET", "/", "--policy", policy + ".none"},
		"another Envoy":      {"GET", "/", "--policy", other},
		"no data file":       {"GET", "/", "--policy", policy, "--data-file", policy + ".none"},
		"two bodies":         {"GET", "/", "--policy", policy, "--data-file", policy, "-d", "x"},
		"an output":          {"GET", "/", "--policy", policy, "--output", "xml"},
		"a setting":          {"GET", "/", "--policy", policy, "--set", "metadata:a/b"},
		"a setting's source": {"GET", "/", "--policy", policy, "--set", "metdata:a/b=S3cr3t"},
		"a setting's kind":   {"GET", "/", "--policy", policy, "--set", "header:a=S3cr3t"},
		"one argument":       {"GET"},
	} {
		code, out, stderr := call(t, append([]string{"explain"}, args...)...)
		if code != exitUsage || out != "" || !strings.HasPrefix(stderr, "routelimit: ") || !strings.Contains(stderr, "; ") && !strings.Contains(stderr, "--help") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
		if strings.Contains(stderr, "S3cr3t") {
			t.Errorf("%s: stderr %q shows a value", name, stderr)
		}
	}
}

func TestExplainReadsURLsAsTheyAreWritten(t *testing.T) {
	for url, want := range map[string][2]string{
		"/a/%2e%2E/b?x=http://h/": {"", "/a/%2e%2E/b"}, "http://h.example/a//b": {"h.example", "/a//b"}, "https://h:8443": {"h:8443", "/"},
		"https://h?q=1": {"h", "/"}, "/a#b": {"", "/a"}, "/a:b://c": {"", "/a:b://c"},
	} {
		_, report := explained(t, "GET", url, "--policy", write(t, "policy.json", "{}"))
		if got := [2]string{report.Host, report.Path}; got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	if _, report := explained(t, "GET", "/a", "-H", "Host: h.example", "--policy", write(t, "policy.json", "{}")); report.Host != "h.example" {
		t.Errorf("host %q", report.Host)
	}
}

func TestExplainTakesTheBodyFromWhereverItIs(t *testing.T) {
	path := write(t, "policy.json", `{"identities": {"name": {"from": "body:name"}}, "body": {"max_bytes": 64}, "default": {"identity": "name", "limit": 1, "window": "1m"}}`)
	caller := func(stdin string, args ...string) string {
		t.Helper()
		args = append([]string{"explain", "POST", "/", "--policy", path, "--output", "json"}, args...)
		_, out, stderr := callWith(t.Context(), stdin, args...)
		report := new(explain.Report)
		if err := json.Unmarshal([]byte(out), report); err != nil {
			t.Fatalf("%v: %v, %s", args, err, stderr)
		}
		if len(report.Keys) != 1 {
			t.Fatalf("%v: keys %+v", args, report.Keys)
		}
		_, key, _ := strings.Cut(report.Keys[0].Key, "|")
		return strings.TrimSuffix(key, "}")
	}
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a form":         {"", []string{"-d", "name=alice"}, "name:alice"},
		"JSON":           {"", []string{"-d", `{"name": "alice"}`, "-H", "content-type: application/json"}, "name:alice"},
		"a file":         {"", []string{"--data-file", write(t, "body", "name=alice")}, "name:alice"},
		"standard input": {"name=alice", []string{"--data-file", "-"}, "name:alice"},
		"none":           {"", nil, "ip:127.0.0.1"},
		"an empty one":   {"", []string{"-d", ""}, "ip:127.0.0.1"},
		"another type":   {"", []string{"-d", "name=alice", "-H", "content-type: text/plain"}, "name:#unread"},
		"too long":       {"", []string{"-d", "name=alice&x=" + strings.Repeat("x", 64)}, "name:#unread"},
		"expected":       {"", []string{"-d", "name=alice", "-H", "expect: 100-continue"}, "name:#unread"},
	} {
		if got := caller(c.stdin, c.args...); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestExplainTakesWhatEnvoyWouldSay(t *testing.T) {
	const sub = "metadata:envoy.filters.http.jwt_authn/payload/sub"
	_, report := explained(t, "POST", "/orders", "--policy", shipped, "--set", sub+"=a=b")
	if len(report.Keys) != 1 || report.Keys[0].Key != "rl:{POST:/orders|user_id:a=b}" {
		t.Errorf("keys %+v", report.Keys)
	}
	_, report = explained(t, "POST", "/orders", "--policy", shipped, "--set", "property:source.address=203.0.113.7:1")
	if report.Limits[0].Used != "ip" {
		t.Errorf("limits %+v", report.Limits)
	}
}

// What Envoy makes of the peer's address and of X-Forwarded-For, as measured on 1.36.4 and 1.40.0.
func TestExplainLetsTheRequestArriveAsItWould(t *testing.T) {
	remote := bootstrap.Front{UseRemoteAddress: true}
	for name, c := range map[string]struct {
		front        *bootstrap.Front
		sent         string
		source, seen string // the trusted address, and all of X-Forwarded-For
	}{
		"a policy by itself":     {nil, "198.51.100.9", "203.0.113.7:50000", "198.51.100.9"},
		"the peer is appended":   {&remote, "198.51.100.9", "203.0.113.7:50000", "198.51.100.9,203.0.113.7"},
		"without a header":       {&remote, "", "203.0.113.7:50000", "203.0.113.7"},
		"not appended":           {&bootstrap.Front{UseRemoteAddress: true, SkipAppend: true}, "198.51.100.9", "203.0.113.7:50000", "198.51.100.9"},
		"Envoy skips one":        {&bootstrap.Front{UseRemoteAddress: true, TrustedHops: 1}, "198.51.100.9, 198.51.100.8", "198.51.100.8:0", "198.51.100.9, 198.51.100.8,203.0.113.7"},
		"Envoy skips too many":   {&bootstrap.Front{UseRemoteAddress: true, TrustedHops: 2}, "198.51.100.9", "203.0.113.7:50000", "198.51.100.9,203.0.113.7"},
		"the last entry":         {&bootstrap.Front{}, "198.51.100.9, 198.51.100.8", "198.51.100.8:0", "198.51.100.9, 198.51.100.8"},
		"the last but one":       {&bootstrap.Front{TrustedHops: 1}, "198.51.100.9, 198.51.100.8", "198.51.100.9:0", "198.51.100.9, 198.51.100.8"},
		"no entry":               {&bootstrap.Front{}, "", "203.0.113.7:50000", ""},
		"an entry of no address": {&bootstrap.Front{}, "unknown", "203.0.113.7:50000", "unknown"},
	} {
		a := &described.Request{Properties: map[string]string{}}
		if c.sent != "" {
			a.Headers = [][2]string{{"x-forwarded-for", c.sent}}
		}
		if err := a.Arrive("203.0.113.7", c.front); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, h := range a.Headers {
			lines = append(lines, h[1])
		}
		if seen := strings.Join(lines, ","); a.Properties["source\x00address"] != c.source || seen != c.seen {
			t.Errorf("%s: source.address %s, x-forwarded-for %q", name, a.Properties["source\x00address"], seen)
		}
	}
}

func TestExplainSaysWhichAddressItAssumed(t *testing.T) {
	path := write(t, "policy.json", "{}")
	for name, c := range map[string]struct {
		args []string
		want bool
	}{
		"nobody said":       {nil, true},
		"the same was said": {[]string{"--from", "127.0.0.1"}, false},
		"Envoy would say":   {[]string{"--set", "property:source.address=203.0.113.7:1"}, false},
	} {
		args := append([]string{"GET", "/", "--policy", path}, c.args...)
		if _, report := explained(t, args...); report.Client.Assumed != c.want {
			t.Errorf("%s: assumed %v", name, report.Client.Assumed)
		}
		if _, out, _ := call(t, append([]string{"explain"}, args...)...); strings.Contains(out, "assumed: --from says who connects") != c.want {
			t.Errorf("%s: %s", name, out)
		}
	}
}

func TestExplainSaysHowALimitIsLeased(t *testing.T) {
	path := write(t, "policy.json", `{"routes": {
		"GET /number": {"identity": "ip", "limit": 100, "window": "1m", "lease": 10},
		"GET /auto": {"identity": "ip", "limit": 100, "window": "1m", "lease": "auto"}},
		"default": {"identity": "ip", "limit": 100, "window": "1m"}}`)
	for path2, want := range map[string][2]string{
		"/number": {"10", ", leased for up to 10 requests at once\n"},
		"/auto":   {"auto", ", leased by the caller's rate\n"},
		"/other":  {"", "by sliding_window, for ip\n"},
	} {
		if _, report := explained(t, "GET", path2, "--policy", path); report.Limits[0].Lease != want[0] {
			t.Errorf("%s: %+v", path2, report.Limits[0])
		}
		if _, out, _ := call(t, "explain", "GET", path2, "--policy", path); !strings.Contains(out, want[1]) {
			t.Errorf("%s: %s", path2, out)
		}
	}
}

func TestExplainTakesTheRouteThatEnvoyChooses(t *testing.T) {
	text := shippedWith(t, "                match: {prefix: /}\n                route: {cluster: upstream, timeout: 15s}",
		"                match: {prefix: /}\n                route: {cluster: upstream, timeout: 15s}\n"+
			"                metadata: {filter_metadata: {routelimit: {route: GET /special/:id, identity: ip, limit: 7, window: 1m}}}")
	path := write(t, "envoy.yaml", text)
	code, report := explained(t, "GET", "/special/1", "--policy", path, "--envoy-route", "upstream")
	if code != exitOK || report.Route.Template != "GET /special/:id" || len(report.Limits) != 1 || report.Limits[0].Terms != "7 in 1m by sliding_window" {
		t.Errorf("code %d, %+v", code, report)
	}
	_, report = explained(t, "GET", "/special/1", "--policy", path)
	if report.Route.Key != "default" {
		t.Errorf("route %+v", report.Route)
	}
	if _, _, stderr := call(t, "explain", "GET", "/special/1", "--policy", path); !strings.Contains(stderr, "--envoy-route") {
		t.Errorf("stderr %q", stderr)
	}
	policy := write(t, "policy.json", `{"default": {"identity": "ip", "limit": 1, "window": "1m", "per": "envoy_route"}}`)
	_, report = explained(t, "GET", "/", "--policy", policy, "--envoy-route", "a/b", "--from", "203.0.113.7")
	if report.Keys[0].Key != "rl:{default/a/b|ip:203.0.113.7}" {
		t.Errorf("keys %+v", report.Keys)
	}
}

func TestExplainWritesNothingThatATerminalObeys(t *testing.T) {
	_, out, _ := call(t, "explain", "GET", "/%1b%5B31m/%07", "--policy", write(t, "policy.json", "{}"))
	if strings.ContainsAny(out, "\x1b\x07") || !strings.Contains(out, `path       /\x1b[31m/\a`) {
		t.Errorf("stdout %q", out)
	}
}

func TestExplainSaysWhatDependsOnTheCaller(t *testing.T) {
	path := write(t, "policy.json", `{"default": {"limits": [
		{"name": "plan", "identity": "ip", "window": "1m", "cost": "header:x-cost", "limit": {"by": "header:x-plan", "values": {"gold": 3000}, "default": 300}},
		{"name": "tried", "identity": "ip", "window": "1h", "limit": 50, "enforce_percent": 50}]}}`)
	for _, c := range []struct{ from, plan, first, second string }{
		{"203.0.113.7", "gold", "plan: 3000 in 1m by sliding_window, for ip, plan gold of header:x-plan, a request costs 7 by header:x-cost", "tried: 50 in 1h by sliding_window, for ip, enforced for 50% of callers, and for this one"},
		{"203.0.113.8", "lead", "plan: 300 in 1m by sliding_window, for ip, the default of header:x-plan, a request costs 7 by header:x-cost", "tried: 50 in 1h by sliding_window, for ip, enforced for 50% of callers, and not for this one"},
	} {
		code, out, stderr := call(t, "explain", "GET", "/", "--policy", path, "--from", c.from, "-H", "x-plan: "+c.plan, "-H", "x-cost: 7")
		if code != exitOK || !strings.Contains(out, "limit      "+c.first+"\n") || !strings.Contains(out, "limit      "+c.second+"\n") {
			t.Errorf("code %d, stderr %q\n%s", code, stderr, out)
		}
	}
	_, out, _ := call(t, "explain", "GET", "/", "--policy", path, "-H", "x-cost: x")
	if want := "a request costs 1, since header:x-cost is missing, repeated or no positive whole number\n"; !strings.Contains(out, want) {
		t.Errorf("stdout lacks %q\n%s", want, out)
	}
}
