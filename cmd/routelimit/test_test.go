package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

const readmeTests = "../../docs/examples/readme.test.yaml"

// The tests of the README's policy pass, in memory and on real servers, and leave nothing there.
func TestTheReadmesPolicyPassesItsTests(t *testing.T) {
	const want = "7 tests, 1844 requests: all passed\n"
	code, out, stderr := call(t, "test", readmeTests)
	if code != exitOK || out != want || stderr != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	code, out, stderr = call(t, "test", readmeTests, "--redis", r.URL())
	if code != exitOK || out != want || stderr != "" {
		t.Errorf("on a Redis: code %d, stdout %q, stderr %q", code, out, stderr)
	}
	keys := r.Client().Keys(t.Context(), "*").Val()
	for _, key := range keys {
		if !strings.HasSuffix(key, ":{try|all}") {
			t.Errorf("left %s", key)
		}
	}
}

func TestTestsCountOnACluster(t *testing.T) {
	c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
	code, out, stderr := call(t, "test", readmeTests, "--redis", c.Addrs()[0])
	if code != exitOK || !strings.HasSuffix(out, "all passed\n") || stderr != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

const someTests = `policy: policy.json
tests:
- name: it passes
  steps: [{send: GET /, expect: 200}]
- name: it fails
  steps: [{send: 3 x GET /, expect: 200}]
`

func writeTests(t *testing.T, tests, policy string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"policy.json": policy, "a.test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "a.test.yaml")
}

const twoAMinute = `{"default": {"identity": "ip", "limit": 2, "window": "1m"}}`

func TestATestThatFailsExitsOneAndSaysWhy(t *testing.T) {
	file := writeTests(t, someTests, twoAMinute)
	report := filepath.Join(t.TempDir(), "report.xml")
	code, out, stderr := call(t, "test", file, "--junit", report, "-v")
	if code != exitFindings || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{
		"ok    " + file + ":3: it passes (1 request)\n", "FAIL  " + file + ":5: it fails\n", file + ":6:12: step 1, at 0s: GET / from 127.0.0.1, 3 of 3\n",
		"      expected   200\n", "      seen       429 (refused), Retry-After 90, limit \"ip\"\n", "left 0, more in 1m30s", "2 tests, 4 requests: 1 failed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
	xml, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(xml), `<testsuites tests="2" failures="1">`) || !strings.Contains(string(xml), "left 0, more in 1m30s") {
		t.Errorf("%v\n%s", err, xml)
	}

	code, out, _ = call(t, "test", file, "--output", "json")
	var got struct {
		Tests, Failed, Requests int
		Files                   []struct {
			File  string
			Tests []struct {
				Name     string
				Failures []struct{ Expected, Seen string }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFindings {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if got.Tests != 2 || got.Failed != 1 || got.Requests != 4 || len(got.Files[0].Tests[0].Failures) != 0 || got.Files[0].Tests[1].Failures[0].Expected != "200" {
		t.Errorf("%+v", got)
	}
}

func TestTestsThatCannotBePlayedSayWhatToDo(t *testing.T) {
	empty := t.TempDir()
	noWasm := filepath.Join(empty, "none.wasm")
	text := filepath.Join(empty, "text.wasm")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		args []string
		code int
		want string
	}{
		"no file":           {filepath.Join(empty, "none"), nil, exitUsage, "give the name of a file of tests"},
		"a mistake":         {writeTests(t, strings.Replace(someTests, "expect", "expekt", 1), twoAMinute), nil, exitUsage, `a.test.yaml:4:25: unknown field "expekt"; did you mean "expect"?`},
		"no policy":         {writeTests(t, strings.Replace(someTests, "policy.json", "none.json", 1), twoAMinute), nil, exitUsage, "none.json"},
		"no such limit":     {writeTests(t, strings.Replace(someTests, "expect: 200", "expect: {limit: ipp}", 1), twoAMinute), nil, exitUsage, `a.test.yaml:4:41: the policy has no limit "ipp"; did you mean "ip"?`},
		"a wrong policy":    {writeTests(t, someTests, `{"default": {"identity": "ip", "limit": 2}}`), nil, exitFindings, `"window" is missing`},
		"no module":         {readmeTests, []string{"--wasm", noWasm}, exitUsage, "leave --wasm away"},
		"another module":    {readmeTests, []string{"--wasm", text}, exitUsage, "compile the plugin"},
		"an output":         {readmeTests, []string{"--output", "xml"}, exitUsage, "write text or json"},
		"no Redis":          {readmeTests, []string{"--redis", "127.0.0.1:1"}, exitFindings, "does not answer"},
		"an unused CA":      {readmeTests, []string{"--redis", "127.0.0.1:1", "--redis-ca", text}, exitUsage, "write rediss://"},
		"a CA that is none": {readmeTests, []string{"--redis", "rediss://127.0.0.1:1", "--redis-ca", text}, exitUsage, "holds no certificate"},
		"a report nowhere":  {readmeTests, []string{"--junit", filepath.Join(empty, "none", "x.xml")}, exitUsage, "give a file that can be written"},
	} {
		code, out, stderr := call(t, append([]string{"test", c.file}, c.args...)...)
		if code != c.code || out != "" || !strings.HasPrefix(stderr, "routelimit: ") || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
}
