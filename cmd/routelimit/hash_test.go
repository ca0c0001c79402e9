package main

import (
	"strings"
	"testing"
)

const hashing = `{"identities": {"api_key": {"from": "header:x-api-key", "secret": true}, "name": {"from": "body:name", "fold": true}}, "default": null}`

func TestHashPrintsWhatStandsInKeysAndWhatExemptTakes(t *testing.T) {
	path := write(t, "policy.json", hashing)
	_, report := explained(t, "GET", "/", "-H", "x-api-key: live_1", "--policy",
		write(t, "other.json", strings.Replace(hashing, `"default": null`, `"default": {"identity": "api_key", "limit": 1, "window": "1m"}`, 1)))
	want := strings.TrimSuffix(strings.TrimPrefix(report.Keys[0].Key, "rl:{default|"), "}") + "\n"
	for _, stdin := range []string{"live_1", "live_1\n", "live_1\r\n"} {
		if code, out, stderr := callWith(t.Context(), stdin, "hash", "api_key", "--policy", path); code != exitOK || out != want || stderr != "" {
			t.Errorf("%q: code %d, stdout %q, stderr %q", stdin, code, out, stderr)
		}
	}
	if code, out, _ := call(t, "hash", "api_key", "live_1", "--policy", path); code != exitOK || out != want {
		t.Errorf("as an argument: code %d, %q, want %q", code, out, want)
	}
	_, one, _ := call(t, "hash", "name", " Zoë ", "--policy", path)
	if _, other, _ := call(t, "hash", "name", "zoe\u0308", "--policy", path); one != other {
		t.Errorf("folded: %q and %q", one, other)
	}

	exempt := strings.Replace(hashing, `"default": null`, `"default": {"identity": "ip", "limit": 0, "window": "1m", "exempt": ["`+strings.TrimSpace(want)+`"]}`, 1)
	_, report = explained(t, "GET", "/", "-H", "x-api-key: live_1", "--policy", write(t, "exempt.json", exempt))
	if report.Outcome != "passes" || report.Why != "the caller is exempt by an identity" {
		t.Errorf("%s: %s", report.Outcome, report.Why)
	}
}

func TestHashUsesTheKeyFromTheEnvironment(t *testing.T) {
	path := write(t, "policy.json", strings.Replace(hashing, "{", `{"hash_key_env": "ROUTELIMIT_TEST_KEY", `, 1))
	code, out, stderr := call(t, "hash", "api_key", "live_1", "--policy", path)
	if code != exitUsage || out != "" || !strings.Contains(stderr, "ROUTELIMIT_TEST_KEY, which hash_key_env names, is not set here; export it") {
		t.Errorf("without it: code %d, stdout %q, stderr %q", code, out, stderr)
	}
	t.Setenv("ROUTELIMIT_TEST_KEY", "0123456789abcde")
	if code, _, stderr := call(t, "hash", "api_key", "live_1", "--policy", path); code != exitUsage || !strings.Contains(stderr, "ROUTELIMIT_TEST_KEY, which hash_key_env names, holds 15 bytes") {
		t.Errorf("too short: code %d, stderr %q", code, stderr)
	}
	t.Setenv("ROUTELIMIT_TEST_KEY", "0123456789abcdef")
	// HMAC-SHA-256 of live_1, as openssl prints it.
	if _, out, _ := call(t, "hash", "api_key", "live_1", "--policy", path); out != "api_key:dee4e5b5c0377a4f\n" {
		t.Errorf("stdout %q", out)
	}
}

func TestHashThatCannotBeMadeExitsTwo(t *testing.T) {
	path := write(t, "policy.json", hashing)
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no such identity": {"x", []string{"api_kez"}, `did you mean "api_key"?`},
		"an address":       {"x", []string{"ip"}, "write it as it is"},
		"nothing":          {"", []string{"api_key"}, "the value is empty"},
		"blanks":           {" \t", []string{"name"}, "the value is empty"},
		"two lines":        {"a\nb\n", []string{"api_key"}, "one value at a time"},
		"no identity":      {"", nil, "--help"},
	} {
		code, out, stderr := callWith(t.Context(), c.stdin, append([]string{"hash", "--policy", path}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
}
