package explain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/policy"
	"routelimit/policy/identity"
)

// table is a request as a table: headers and attributes of Envoy.
type table struct {
	headers    [][2]string
	properties map[string]string
}

func (t table) Header(name string, line int) (string, bool) {
	for _, h := range t.headers {
		if h[0] == name {
			if line == 0 {
				return h[1], true
			}
			line--
		}
	}
	return "", false
}

func (t table) Property(path string) ([]byte, bool) {
	value, ok := t.properties[path]
	return []byte(value), ok
}

// request is a request from the peer 192.0.2.1: method, path, then headers.
func request(method, path string, headers ...string) Request {
	t := table{
		headers:    [][2]string{{":method", method}, {":authority", "api.example.com"}, {":path", path}},
		properties: map[string]string{"source\x00address": "192.0.2.1:40000"},
	}
	for i := 0; i < len(headers); i += 2 {
		t.headers = append(t.headers, [2]string{headers[i], headers[i+1]})
	}
	return Request{Attributes: t}
}

func (r Request) withBody(text string) Request {
	r.Body = &identity.Body{Bytes: []byte(text), Complete: true}
	return r
}

func mustParse(t *testing.T, raw string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(raw), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%s\n%v", raw, err)
	}
	return p
}

func readme(t *testing.T) *policy.Policy {
	t.Helper()
	raw, err := os.ReadFile("../testdata/good/readme.json")
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, string(raw))
}

// The whole report of one request is in a file; with UPDATE_GOLDEN set it is
// written anew.
func TestReportHoldsEveryStep(t *testing.T) {
	r := request("POST", "/x/../login/?next=1", "content-type", "application/json", "x-forwarded-for", "198.51.100.9, 203.0.113.7").
		withBody(`{"username": " Alice "}`)
	got, err := json.MarshalIndent(Explain(readme(t), r), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/login.json", append(got, '\n'))
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomeIsKnownWithoutRedisWhereItIs(t *testing.T) {
	const limit = `{"identity": "ip", "limit": 3, "window": "1m"}`
	for name, c := range map[string]struct {
		policy  string
		request Request
		outcome Outcome
		why     string
		route   string // its key
	}{
		"asks":                  {`{"default": ` + limit + `}`, request("GET", "/"), Asks, "Redis decides", "default"},
		"off":                   {`{"mode": "off", "default": ` + limit + `}`, request("GET", "/"), Passes, `the mode is "off"`, ""},
		"empty":                 {`{}`, request("GET", "/"), Passes, "no route covers it, and there is no default", ""},
		"undeclared":            {`{"routes": {"GET /a": ` + limit + `}, "undeclared": "refuse"}`, request("GET", "/b"), Refused, `no route covers it, and "undeclared" is "refuse": 404`, ""},
		"unlimited":             {`{"routes": {"GET /a": {"limits": []}}, "default": null}`, request("GET", "/a"), Passes, "the route has no limits", "GET:/a"},
		"exempt":                {`{"default": {"identity": "ip", "limit": 3, "window": "1m", "exempt": ["192.0.2.0/24"]}}`, request("GET", "/"), Passes, "the client's address is exempt", "default"},
		"blocked":               {`{"default": {"name": "shut", "identity": "ip", "limit": 0, "window": "1m"}}`, request("GET", "/"), Refused, `limit "shut" is 0`, "default"},
		"too dear":              {dear(``), request("GET", "/", "x-cost", "4"), Refused, `the request costs 4, and limit "dear" never lets more than 3 pass`, "default"},
		"dear":                  {dear(``), request("GET", "/", "x-cost", "3"), Asks, "Redis decides", "default"},
		"too dear for a bucket": {dear(`, "algorithm": "token_bucket", "burst": 2`), request("GET", "/", "x-cost", "3"), Refused, `the request costs 3, and limit "dear" never lets more than 2 pass`, "default"},
		"too dear for a shadow": {dear(`, "shadow": true`), request("GET", "/", "x-cost", "4"), Asks, "Redis decides", "default"},
		"preflight": {`{"default": ` + limit + `}`, request("OPTIONS", "/", "origin", "https://a", "access-control-request-method", "PUT"),
			Passes, "it is a CORS preflight, which is not counted", "default"},
		"counted preflight": {`{"count_preflights": true, "default": ` + limit + `}`, request("OPTIONS", "/", "origin", "https://a", "access-control-request-method", "PUT"),
			Asks, "Redis decides", "default"},
	} {
		report := Explain(mustParse(t, c.policy), c.request)
		route := ""
		if report.Route != nil {
			route = report.Route.Key
		}
		if report.Outcome != c.outcome || report.Why != c.why || route != c.route {
			t.Errorf("%s: %s, %s, route %q", name, report.Outcome, report.Why, route)
		}
		if asks := c.outcome == Asks || name == "blocked" || strings.HasPrefix(name, "too dear"); asks != (len(report.Limits) > 0) {
			t.Errorf("%s: limits %v", name, report.Limits)
		}
	}
}

// dear is a default whose requests cost what a header says.
func dear(fields string) string {
	return `{"default": {"name": "dear", "identity": "ip", "limit": 3, "window": "1m", "cost": "header:x-cost"` + fields + `}}`
}

func TestACostThatCannotBeReadIsShown(t *testing.T) {
	p := mustParse(t, dear(``))
	for name, c := range map[string]struct {
		headers []string
		unread  bool
	}{
		"missing": {nil, true}, "no number": {[]string{"x-cost", "x"}, true}, "zero": {[]string{"x-cost", "0"}, true}, "negative": {[]string{"x-cost", "-1"}, true},
		"twice": {[]string{"x-cost", "1", "x-cost", "1"}, true}, "one": {[]string{"x-cost", "1"}, false}, "01": {[]string{"x-cost", "01"}, false}, "two": {[]string{"x-cost", "2"}, false},
	} {
		if l := Explain(p, request("GET", "/", c.headers...)).Limits[0]; l.CostUnread != c.unread || c.unread && l.Cost != 1 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestRouteSaysWhomItBeats(t *testing.T) {
	p := mustParse(t, `{"default": null, "routes": {"* /*": {"limits": []}, "GET /users/:id": {"limits": []}, "GET /users/me": {"limits": []}}}`)
	want := &Route{Key: "GET:/users/me", Template: "GET /users/me", From: "routes", OnError: "open", Beaten: []Loss{
		{"GET /users/:id", `its segment 2 is "me", the other's ":id", any one`}, {"* /*", `its segment 1 is "users", the other's "*", the rest`},
	}}
	if diff := cmp.Diff(want, Explain(p, request("GET", "/users/me")).Route); diff != "" {
		t.Error(diff)
	}
}

func TestWhatEnvoysRouteCarriesGoesFirst(t *testing.T) {
	p := mustParse(t, `{"identities": {"tenant": {"from": "path:tenant"}}, "default": null, "routes": {"GET /t/:x": {"limits": []}}}`)
	carried, err := p.ParseMetadata([]byte(`{"route": "GET /t/:tenant", "identity": "tenant", "limit": 3, "window": "1m"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := request("GET", "/t/7")
	r.Route = carried
	report := Explain(p, r)
	want := &Route{Key: "GET:/t/:tenant", Template: "GET /t/:tenant", From: "metadata of an Envoy route", OnError: "open", Beaten: []Loss{
		{"GET /t/:x", "what an Envoy route carries goes before routes"},
	}}
	if diff := cmp.Diff(want, report.Route); diff != "" {
		t.Error(diff)
	}
	if len(report.Keys) != 1 || report.Keys[0].Key != "rl:{GET:/t/:tenant|tenant:7}" {
		t.Errorf("keys %+v", report.Keys)
	}
}

// A secret may come from anywhere. No report shows it, however it is spelled.
func TestNoSecretIsShown(t *testing.T) {
	const secret = "S3cr3tValue"
	spelled := []string{secret, "S%33cr3tValue", strings.ToLower(secret)}
	token := "x." + "eyJzdWIiOiJTM2NyM3RWYWx1ZSJ9" + ".x" // {"sub":"S3cr3tValue"}
	for from, r := range map[string]Request{
		"header:x-key":       request("GET", "/a/b", "x-key", secret),
		"header::path":       request("GET", "/"+secret+"/b"),
		"cookie:session":     request("GET", "/a/b", "cookie", "session="+secret),
		"query:key":          request("GET", "/a/b?key="+secret),
		"body:key":           request("POST", "/a/b", "content-type", "application/json").withBody(`{"key": "` + secret + `"}`),
		"path:one":           request("GET", "/"+spelled[1]+"/"+secret),
		"path:two":           request("GET", "/a/"+spelled[1]+"/"),
		"path:*":             request("GET", "/rest/"+secret+"/"+spelled[1]),
		"jwt_unverified:sub": request("GET", "/a/b", "authorization", "Bearer "+token),
	} {
		t.Run(from, func(t *testing.T) {
			p := mustParse(t, `{"identities": {"id": {"from": "`+from+`", "secret": true}, "folded": {"from": "`+from+`", "secret": true, "fold": true}},
				"default": {"limits": [{"identity": "id|folded", "limit": 1, "window": "1m"}]},
				"routes": {"* /:one/:two": {"limits": [{"identity": "id+folded", "limit": 1, "window": "1m"}, {"identity": "folded|ip", "limit": 1, "window": "1h"}]},
				"* /rest/*": {"limits": [{"identity": "id", "limit": 1, "window": "1m"}]}}}`)
			report := Explain(p, r)
			shown, err := json.Marshal(report)
			if err != nil {
				t.Fatal(err)
			}
			for _, spelling := range spelled {
				if strings.Contains(string(shown), spelling) {
					t.Errorf("%s shows %s", shown, spelling)
				}
			}
			if len(report.Limits) == 0 || !strings.Contains(report.Limits[0].Used, "id") {
				t.Errorf("the secret was not even used: %s", shown)
			}
		})
	}
}

// A route that loses may know a secret that the one that wins does not.
func TestNoSecretOfABeatenRouteIsShown(t *testing.T) {
	p := mustParse(t, `{"identities": {"token": {"from": "path:token", "secret": true}}, "default": null, "routes": {
		"GET /reset/:token": {"identity": "token", "limit": 1, "window": "1m"}, "GET /reset/first": {"identity": "ip", "limit": 1, "window": "1m"}}}`)
	if report := Explain(p, request("GET", "/reset/first")); report.Path != "***" || report.Normalised != "/reset/***" {
		t.Errorf("got %s, %s", report.Path, report.Normalised)
	}
}

func TestThePathIsShownWithoutItsQuery(t *testing.T) {
	report := Explain(mustParse(t, `{}`), request("GET", "//a/%2e/B?x=1"))
	if report.Path != "//a/%2e/B" || report.Normalised != "/a/B" {
		t.Errorf("got %s, %s", report.Path, report.Normalised)
	}
}
