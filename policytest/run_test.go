package policytest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
	"routelimit/module"
	"routelimit/policy"
)

var built = sync.OnceValues(func() (*hosttest.Module, error) {
	wasm, err := module.Read("")
	if err != nil {
		return nil, err
	}
	return hosttest.Compile(context.Background(), wasm)
})

// play plays a file in this program's memory.
func play(t *testing.T, text string) (*Result, error) {
	t.Helper()
	m, err := built()
	if err != nil {
		t.Fatalf("%v; run make wasm", err)
	}
	f, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), f, f.Policy, Options{Module: m, Store: new(Embedded)})
}

const login = `
policy:
  identities: {username: {from: "body:username", fold: true, secret: true}, plan: {from: "header:x-plan"}}
  routes:
    POST /login: {on_error: closed, limits: [
      {name: pair, identity: ip+username, limit: 3, window: 5m, algorithm: sliding_log},
      {name: failed, identity: username, limit: 5, window: 1h, count: [401]}]}
    GET /tokens: {identity: ip, limit: 2, burst: 4, window: 10s, algorithm: token_bucket}
    GET /never: {identity: ip, limit: 0, window: 1m}
    GET /seen: {identity: ip, limit: 1, window: 1m, shadow: true}
    GET /local: {on_error: local, identity: ip, limit: 10, window: 1s, algorithm: fixed_window}
  default: null
callers:
  alice: {from: 203.0.113.7, json: {username: alice}}
tests:
- name: the test
  steps:
`

func TestWhatMustBeIs(t *testing.T) {
	for name, steps := range map[string]string{
		"a log of five minutes": `
  - {send: 3 x POST /login, as: alice, expect: {status: 200, outcome: passed, retry_after: none}}
  - {send: POST /login, as: alice, expect: {status: 429, outcome: refused, retry_after: 300, limit: pair, headers: {x-ratelimit-remaining: 0}, body_contains: retryAfterSec}}
  - {send: POST /login, as: alice, from: 203.0.113.8, expect: 200}
  - {at: 5m, send: POST /login, as: alice, expect: {status: 200, remaining: {pair: 2, failed: 5}}}`,
		"only failures count": `
  - {send: 3 x POST /login, as: alice, upstream: 401, expect: {status: 401, remaining: 0}}
  - {send: 2 x POST /login, as: alice, from: 203.0.113.8, upstream: 401, expect: {status: 401, remaining: {failed: 0, pair: 1}}}
  - {send: POST /login, as: alice, from: 203.0.113.9, expect: {status: 429, limit: failed}}`,
		"a bucket that refills": `
  - {send: 4 x GET /tokens, expect: 200}
  - {send: GET /tokens, expect: {status: 429, retry_after: 5s}}
  - {wait: 5s, send: GET /tokens, expect: {status: 200, remaining: 0}}
  - {wait: 20s, send: 8 x GET /tokens, every: 5s, expect: 200}`,
		"a limit of nothing": `
  - {send: GET /never, expect: {status: 429, retry_after: none}}`,
		"a shadow limit": `
  - {send: 2 x GET /seen, expect: 200}`,
		"Redis goes and comes": `
  - {send: POST /login, as: alice, expect: 200}
  - redis: down
  - {send: 2 x POST /login, as: alice, expect: {status: 503, outcome: unavailable, retry_after: 5}}
  - {send: GET /tokens, expect: {status: 200, outcome: open}}
  - {redis: up, wait: 2s}
  - {send: POST /login, as: alice, expect: {status: 200, remaining: {pair: 1}}}
  - redis: silent
  - {send: POST /login, as: alice, expect: 503}
  - {redis: up, wait: 2s}
  - {redis: empty, send: POST /login, as: alice, expect: {status: 200, remaining: {pair: 2}}}`,
		"a worker alone": `
  - redis: down
  - {send: GET /local, expect: {status: 200, outcome: local_passed}}
  - {send: GET /local, expect: {status: 429, outcome: local_refused}}`,
	} {
		t.Run(name, func(t *testing.T) {
			result, err := play(t, login+strings.TrimPrefix(steps, "\n")+"\n")
			if err != nil || result.Failed != 0 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// What is not as it must be is told with its place, what was expected and seen, and why.
func TestWhatMustBeAndIsNotIsTold(t *testing.T) {
	for name, c := range map[string]struct{ step, request, expected, seen string }{
		"a status":      {"{send: 4 x POST /login, as: alice, expect: 200}", "POST /login as alice, 4 of 4", "200", `429 (refused), Retry-After 300, limit "pair"`},
		"an outcome":    {"{send: GET /other, from: 203.0.113.8, expect: {outcome: refused}}", "GET /other from 203.0.113.8", "outcome refused", "200 from the upstream"},
		"a limit":       {"{send: GET /never, expect: {status: 429, limit: pair}}", "GET /never from 127.0.0.1", `429, limit "pair"`, `429 (refused), limit "ip"`},
		"a wait":        {"{send: GET /never, expect: {status: 429, retry_after: 60}}", "GET /never from 127.0.0.1", "429, Retry-After 60", `429 (refused), no Retry-After, limit "ip"`},
		"no wait":       {"{send: 5 x GET /tokens, expect: {retry_after: none}}", "GET /tokens from 127.0.0.1, 5 of 5", "no Retry-After", `429 (refused), Retry-After 5, limit "ip"`},
		"what remains":  {"{send: 2 x POST /login, as: alice, expect: {remaining: {pair: 2}}}", "POST /login as alice, 2 of 2", `2 remaining of "pair"`, `200 from the upstream, 1 remaining of "pair"`},
		"no such limit": {"{send: GET /other, expect: {remaining: 2}}", "GET /other from 127.0.0.1", "2 remaining", "200 from the upstream, what remains is not known, since no route covers it, and there is no default"},
		"a header":      {"{send: GET /tokens, expect: {headers: {x-ratelimit-limit: 9, x-no: 1}}}", "GET /tokens from 127.0.0.1", "x-ratelimit-limit: 9, x-no: 1", "200 from the upstream, x-ratelimit-limit: 2, no x-no"},
		"no header":     {"{send: GET /tokens, expect: {headers: {x-ratelimit-limit: null}}}", "GET /tokens from 127.0.0.1", "no x-ratelimit-limit", "200 from the upstream, x-ratelimit-limit: 2"},
		"a body":        {"{send: GET /never, expect: {body_contains: hello}}", "GET /never from 127.0.0.1", `a body with "hello"`, `429 (refused), limit "ip", the body "{\"error\":\"rate_limited\"}"`},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := play(t, login+"  - wait: 1s\n  - "+c.step+"\n")
			if err != nil || result.Failed != 1 || len(result.Tests[0].Failures) != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			got := result.Tests[0].Failures[0]
			if got.Why == nil {
				t.Error("nothing says why")
			}
			got.Why = nil
			want := Failure{Line: 19, Column: 6, Step: 2, At: "1s", Request: c.request, Expected: c.expected, Seen: c.seen}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestATimeThatHasPassedFails(t *testing.T) {
	result, err := play(t, login+"  - wait: 1m\n  - {at: 10s, send: GET /, expect: 200}\n")
	if err != nil || result.Failed != 1 || !strings.Contains(result.Tests[0].Failures[0].Seen, "it is 1m already; write a later time") {
		t.Errorf("%+v, %v", result, err)
	}
}

// Each test begins with nothing counted, at the beginning of every window.
func TestTestsKnowNothingOfEachOther(t *testing.T) {
	result, err := play(t, "policy: {default: {identity: ip, limit: 1, window: 7d, algorithm: fixed_window}}\ntests:\n"+
		"- {name: a, steps: [{send: GET /, expect: 200}, {send: GET /, expect: {status: 429, retry_after: 604800}}]}\n"+
		"- {name: b, steps: [{send: GET /, expect: 200}]}\n")
	if err != nil || result.Failed != 0 || result.Requests != 3 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestAWrongPolicyIsTold(t *testing.T) {
	const tests = "tests: [{name: a, steps: [{send: GET /, expect: 200}]}]\n"
	_, err := play(t, "policy: {default: {identity: ip, limit: 1}}\n"+tests)
	var wrong policy.Errors
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), `"window" is missing`) {
		t.Errorf("error = %v", err)
	}
	const hashed = "policy: {hash_key_env: KEY, default: {identity: ip, limit: 1, window: 1m}}\n"
	if _, err = play(t, hashed+tests); err == nil || !strings.Contains(err.Error(), "write env: {KEY:") {
		t.Errorf("error = %v", err)
	}
	if result, err := play(t, "env: {KEY: sixteen bytes at least}\n"+hashed+tests); err != nil || result.Failed != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// The key prefix takes the place of the policy's, wherever that stands.
func TestAPrefixIsPutIntoAPolicy(t *testing.T) {
	for raw, want := range map[string]string{
		`{"default": null}`: `{"default":null,"redis":{"key_prefix":"t"}}`,
		`{"redis": {"key_prefix": "rl", "timeout": "9ms"}, "default": null}`: `{"default":null,"redis":{"key_prefix":"t","timeout":"9ms"}}`,
		`{}`: `{"redis":{"key_prefix":"t"}}`,
		`{"redis": {"username_env": "U", "password_env": "P", "database": 3}}`: `{"redis":{"key_prefix":"t"}}`,
	} {
		if got, err := forTests([]byte(raw), "t"); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
}

func TestALimitThatThePolicyDoesNotHaveIsNamed(t *testing.T) {
	const steps = "  - {send: GET /tokens, expect: {limit: %}}\n"
	for limit, want := range map[string]string{
		"piar": `line 18, column 41: the policy has no limit "piar"; did you mean "pair"?`,
		"pear": `line 18, column 41: the policy has no limit "pear"; write one of failed, ip, pair`,
	} {
		_, err := play(t, login+strings.Replace(steps, "%", limit, 1))
		var problems Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", limit, err, want)
		}
	}
}
