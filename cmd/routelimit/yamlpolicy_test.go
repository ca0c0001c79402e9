package main

import (
	"strings"
	"testing"
)

// Every verb reads a policy by itself in YAML as it reads one in JSON.
func TestEveryVerbReadsAPolicyInYAML(t *testing.T) {
	const inYAML = "identities: {user: {from: 'metadata:a/b'}}\nroutes:\n  POST /login: {identity: ip, limit: 5, window: 1m}\ndefault: null\n"
	const inJSON = `{"identities": {"user": {"from": "metadata:a/b"}}, "routes": {"POST /login": {"identity": "ip", "limit": 5, "window": "1m"}}, "default": null}`
	yaml, json := write(t, "policy.yaml", inYAML), write(t, "policy.json", inJSON)
	log := write(t, "access.log", `127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "POST /login HTTP/1.1" 200 2`+"\n")
	for name, args := range map[string][]string{
		"lint":     {"lint", "POLICY"},
		"explain":  {"explain", "POST", "/login", "--policy", "POLICY"},
		"render":   {"render", "--for", "envoy", "--policy", "POLICY", "--redis", "redis://127.0.0.1:6379"},
		"simulate": {"simulate", "--policy", "POLICY", "--log", log},
		"diff":     {"diff", "--old", json, "--new", "POLICY", "--log", log},
		"hash":     {"hash", "user", "alice", "--policy", "POLICY"},
	} {
		run := func(policy string) (int, string) {
			own := append([]string{}, args...)
			for i := range own {
				if own[i] == "POLICY" {
					own[i] = policy
				}
			}
			code, out, err := call(t, own...)
			return code, strings.ReplaceAll(out+err, policy, "policy")
		}
		wantCode, want := run(json)
		code, got := run(yaml)
		if code != wantCode || name != "render" && name != "lint" && got != want || strings.Contains(got, "no routelimit") || code == exitUsage {
			t.Errorf("%s: code %d, %d of JSON:\n%s\nwant\n%s", name, code, wantCode, got, want)
		}
	}
}

func TestLintNamesTheLineOfAPolicyInYAML(t *testing.T) {
	path := write(t, "policy.yaml", "default: null\nroutes:\n  GET /a:\n    identity: ip\n    limit: many\n    window: 1m\n")
	code, out, err := call(t, "lint", path)
	if code != exitFindings || !strings.HasPrefix(out, path+`:5: error: routes["GET /a"].limit: "many" is a text`) {
		t.Errorf("code %d, %s%s", code, out, err)
	}
}

func TestAPolicyInYAMLCanBeTested(t *testing.T) {
	raw, front, err := policyOf(write(t, "policy.yaml", "default: null\n"))
	if string(raw) != `{"default":null}` || front != nil || err != nil {
		t.Errorf("%s, %v, %v", raw, front, err)
	}
}
