package policytest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAFileIsReadFieldByField(t *testing.T) {
	got, err := Read([]byte(`policy: policy.json
env: {KEY: a key of sixteen bytes}
callers:
  alice: {from: 203.0.113.7, headers: {x-a: one, x-b: [two, three]}, cookies: {sid: s}, json: {username: alice}, set: {"metadata:a/b": c}, envoy_route: r}
tests:
- name: first
  steps:
  - {at: 1m30s, send: 10 x POST http://example.com/login, as: alice, headers: {x-a: four}, every: 2s, upstream: 401, expect: 401}
  - {wait: 5s, redis: down}
  - send: GET /
    form: {a: b c, d: "&"}
    expect:
      status: 429
      outcome: refused
      limit: pair
      retry_after: 5m
      remaining: {pair: 0, address: 90}
      headers: {X-RateLimit-Limit: 10, x-other: null}
      body_contains: [rate, limited]
`))
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(300)
	want := &File{
		PolicyFile: "policy.json", Env: map[string]string{"KEY": "a key of sixteen bytes"},
		Tests: []Test{{Name: "first", Line: 6, Steps: []Step{
			{Line: 8, Column: 6, At: 90 * time.Second, HasAt: true, Send: &Send{
				Times: 10, Every: 2 * time.Second, Method: "POST", URL: "http://example.com/login", Caller: "alice", Upstream: 401,
				Request: Request{
					From: "203.0.113.7", Headers: []Line{{"x-b", "two"}, {"x-b", "three"}, {"x-a", "four"}}, Cookies: []Line{{"sid", "s"}},
					Set: []Line{{"metadata:a/b", "c"}}, EnvoyRoute: "r", Body: []byte(`{"username":"alice"}`), Type: "application/json",
				},
				Expect: Expectation{Status: 401},
			}},
			{Line: 9, Column: 6, Wait: 5 * time.Second, Redis: RedisDown},
			{Line: 10, Column: 5, Send: &Send{
				Times: 1, Method: "GET", URL: "/", Upstream: 200,
				Request: Request{From: "127.0.0.1", Body: []byte("a=b+c&d=%26"), Type: "application/x-www-form-urlencoded"},
				Expect: Expectation{
					Status: 429, Outcome: "refused", Limit: "pair", LimitLine: 15, LimitColumn: 14, RetryAfter: &seconds, Remaining: map[string]int64{"pair": 0, "address": 90},
					Headers: []Header{{Name: "x-ratelimit-limit", Value: "10"}, {Name: "x-other", Absent: true}}, Contains: []string{"rate", "limited"},
				},
			}},
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAPolicyMayStandInTheFile(t *testing.T) {
	for name, text := range map[string]string{
		"as YAML": "policy:\n  default: {identity: ip, limit: 1, window: 1m}\n",
		"as JSON": "policy: |\n  {\"default\":{\"identity\":\"ip\",\"limit\":1,\"window\":\"1m\"}}\n",
	} {
		f, err := Read([]byte(text + "tests: [{name: a, steps: [{send: GET /, expect: 200}]}]\n"))
		if err != nil || strings.TrimSpace(string(f.Policy)) != `{"default":{"identity":"ip","limit":1,"window":"1m"}}` || f.PolicyFile != "" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// Each mistake has its place and says what to do.
func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	const step = "policy: p.json\ntests:\n- name: a\n  steps:\n  - "
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":                     {"a: [\n", "line 1, column 4: not YAML: "},
		"two documents":               {"a: 1\n---\nb: 2\n", "2 documents"},
		"a list":                      {"- a\n", "a file of tests is a mapping"},
		"an unknown field":            {"polcy: p.json\ntests: [{name: a, steps: [{send: GET /, expect: 200}]}]\n", `line 1, column 1: unknown field "polcy"; did you mean "policy"?`},
		"no policy":                   {"tests: [{name: a, steps: [{send: GET /, expect: 200}]}]\n", "policy is missing; write policy:"},
		"no tests":                    {"policy: p.json\n", "there are no tests; write tests:"},
		"no name":                     {"policy: p.json\ntests:\n- steps: [{send: GET /, expect: 200}]\n", "line 3, column 3: name is missing"},
		"no steps":                    {"policy: p.json\ntests: [{name: a}]\n", "the test has no steps"},
		"an unknown field of a step":  {step + "{send: GET /, expected: 200}\n", `line 5, column 19: unknown field "expected"; did you mean "expect"?`},
		"no expectation":              {step + "{send: GET /}\n", "line 5, column 12: what must come of it is missing; write expect: 200"},
		"nothing sent":                {step + "{as: alice, expect: 200}\n", "said of a request, and the step sends none"},
		"nothing done":                {step + "{}\n", "the step does nothing"},
		"an unknown caller":           {"callers: {alice: {}}\n" + step + "{send: GET /, as: alcie, expect: 200}\n", `caller "alcie" is unknown; did you mean "alice"?`},
		"a caller nobody is near":     {step + "{send: GET /, as: bob, expect: 200}\n", `caller "bob" is unknown; describe it under callers:`},
		"no request":                  {step + "{send: GET, expect: 200}\n", `"GET" is no request; write METHOD /path`},
		"no number of requests":       {step + "{send: 0 x GET /, expect: 200}\n", `"0" is no number of requests`},
		"too many":                    {step + "{send: 1000001 x GET /, expect: 200}\n", "from 1 to 1000000"},
		"no path":                     {step + "{send: GET login, expect: 200}\n", "the URL has no path"},
		"no address":                  {step + "{send: GET /, from: localhost, expect: 200}\n", `from "localhost" is no address`},
		"no source":                   {step + "{send: GET /, set: {\"header:a\": b}, expect: 200}\n", "only metadata: and property: come from Envoy"},
		"a header of two lines":       {step + "{send: GET /, headers: {a: \"b\\nc\"}, expect: 200}\n", `the header "a" cannot be sent`},
		"two bodies":                  {step + "{send: GET /, json: {}, body: a, expect: 200}\n", "a request has one body"},
		"a state of Redis":            {step + "redis: dwon\n", `redis "dwon" is unknown; did you mean "down"?`},
		"a time":                      {step + "{at: 5, send: GET /, expect: 200}\n", "at: \"5\" has no unit"},
		"a time and a wait":           {step + "{at: 5s, wait: 5s, send: GET /, expect: 200}\n", "write one of them"},
		"a long time":                 {step + "{at: 9999d, send: GET /, expect: 200}\n", "out of range"},
		"no status":                   {step + "{send: GET /, expect: ok}\n", `status "ok" is no whole number from 200 to 599`},
		"an outcome":                  {step + "{send: GET /, expect: {outcome: refuse}}\n", `outcome "refuse" is unknown; did you mean "refused"?`},
		"nothing expected":            {step + "{send: GET /, expect: {}}\n", "nothing is expected"},
		"a part of a second":          {step + "{send: GET /, expect: {retry_after: 1ms}}\n", "not whole seconds"},
		"headers that are none":       {step + "{send: GET /, headers: [a], expect: 200}\n", "headers are names and values"},
		"expected headers":            {step + "{send: GET /, expect: {headers: a}}\n", "headers are names and values"},
		"a text that is a mapping":    {step + "{send: {a: b}, expect: 200}\n", "send is missing or no text"},
		"a form that is from":         {step + "{send: GET /, form: 203.0.113.7, json: {}, expect: 200}\n", `line 5, column 25: form is the fields of a body; write form: {name: value}, or did you mean "from", for an address?`},
		"callers that are none":       {"callers: [a]\n" + step + "{send: GET /, expect: 200}\n", "callers are names"},
		"an unknown field elsewhere":  {"callers: {a: {colour: red}}\n" + step + "{send: GET /, expect: 200}\n", `line 1, column 15: unknown field "colour"; remove it, or write one of from, headers`},
		"the same name twice":         {"policy: p.json\npolicy: q.json\ntests: []\n", "already defined"},
		"the same name in the policy": {"policy: {default: null, default: null}\ntests: []\n", "already defined"},
		"an empty policy":             {"policy: ''\ntests: [{name: a, steps: [{send: GET /, expect: 200}]}]\n", "the policy is empty"},
	} {
		if !strings.Contains(c.text, "policy") && name != "no policy" && strings.Contains(c.text, "callers") {
			c.text = "policy: p.json\n" + c.text
		}
		_, err := Read([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: error = %v, want %s", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("policy: p.json\ncallers: {a: {json: {b: c}}}\ntests: [{name: a, steps: [{send: 2 x GET /, as: a, expect: {status: 200, remaining: 1}}]}]\n"))
	f.Add([]byte("tests: [{steps: [{redis: down}, {at: 5m}]}]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Read(raw)
		if (file == nil) == (err == nil) {
			t.Errorf("%v, %v", file, err)
		}
	})
}
