package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shippedWith is the project's envoy.yaml with one thing written otherwise.
func shippedWith(t *testing.T, old, new string) string {
	t.Helper()
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("envoy.yaml holds %q %d times", old, strings.Count(string(text), old))
	}
	return strings.Replace(string(text), old, new, 1)
}

// lineOf is the number of the line of a text that holds a part.
func lineOf(t *testing.T, text, part string) (line, column int) {
	t.Helper()
	before, _, found := strings.Cut(text, part)
	if !found {
		t.Fatalf("no %q", part)
	}
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
}

func TestLintAcceptsWhatIsShipped(t *testing.T) {
	code, out, err := call(t, "lint", "../../envoy.yaml")
	if code != exitOK || out != "../../envoy.yaml: no errors, no warnings\n" || err != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestLintOfAPolicyListsAllErrorsWithTheirPlaces(t *testing.T) {
	path := write(t, "policy.json", "{\n  \"default\": null,\n  \"routes\": {\n"+
		"    \"POST /login\": { \"identity\": \"ip\", \"limit\": 10, \"windo\": \"5m\" },\n"+
		"    \"GET /a\": { \"identity\": \"ip\", \"limit\": -1, \"window\": \"60\" }\n  }\n}\n")
	code, out, _ := call(t, "lint", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitFindings || len(lines) != 5 || lines[4] != path+": 4 errors, no warnings" {
		t.Fatalf("code %d, stdout:\n%s", code, out)
	}
	for _, want := range []string{path + ":4:", path + ":5:", `windo: unknown field`, `did you mean "window"`} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
}

func TestLintOfAnEnvoyConfigurationGivesItsLines(t *testing.T) {
	const part = `"30m and a bit"`
	text := shippedWith(t, `"limit": 30, "window": "1m"`, `"limit": 30, "window": `+part)
	path := write(t, "envoy.yaml", text)
	line, column := lineOf(t, text, part)
	code, out, _ := call(t, "lint", path)
	want := path + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column) + `: error: routes["POST /orders"].window: `
	if code != exitFindings || !strings.HasPrefix(out, want) {
		t.Errorf("code %d, stdout %q, want %q", code, out, want)
	}
}

func TestLintOfBrokenJSONIsAFinding(t *testing.T) {
	path := write(t, "policy.json", "{\n  \"mode\": \"enforce\",,\n}")
	code, out, _ := call(t, "lint", path)
	if code != exitFindings || !strings.HasPrefix(out, path+":2:") || !strings.HasSuffix(out, "1 error, no warnings\n") {
		t.Errorf("code %d, stdout %q", code, out)
	}
}

func TestLintOfBrokenYAMLIsAFinding(t *testing.T) {
	path := write(t, "envoy.yaml", "admin: {}\nstatic_resources: [\n")
	code, out, _ := call(t, "lint", path)
	if code != exitFindings || !strings.HasPrefix(out, path+":2:") || !strings.Contains(out, "not YAML") {
		t.Errorf("code %d, stdout %q", code, out)
	}
}

func TestLintReadsStandardInput(t *testing.T) {
	code, out, _ := callWith(t.Context(), `{"mode": "of"}`, "lint", "-")
	if code != exitFindings || !strings.HasPrefix(out, "-:1:10: error: mode: ") {
		t.Errorf("code %d, stdout %q", code, out)
	}
}

func TestLintOfNothingToCheckExitsTwo(t *testing.T) {
	for name, path := range map[string]string{
		"no file":       filepath.Join(t.TempDir(), "absent.json"),
		"a folder":      t.TempDir(),
		"another Envoy": write(t, "other.yaml", "admin: {}\n"),
		"empty":         write(t, "empty.json", ""),
		"prose":         write(t, "notes.txt", "hello\n"),
	} {
		code, out, err := call(t, "lint", path)
		if code != exitUsage || out != "" || !strings.Contains(err, "; give ") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, err)
		}
	}
}

const unwise = "{\n  \"default\": null,\n  \"mode\": \"off\"\n}\n"

func TestWarningsFailOnlyIfStrict(t *testing.T) {
	path := write(t, "policy.json", unwise)
	want := path + ":2:3: warning: default: every request that no route lists is unlimited, new endpoints too; " +
		"write a limit, or \"undeclared\": \"refuse\" [default-null]\n" +
		path + ":3:3: warning: mode: nothing is limited; write \"enforce\", or \"shadow\" to count without refusing [mode-off]\n" +
		path + ": no errors, 2 warnings\n"
	if code, out, err := call(t, "lint", path); code != exitOK || out != want || err != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
	if code, out, _ := call(t, "lint", "--strict", path); code != exitFindings || out != want {
		t.Errorf("code %d, stdout %q", code, out)
	}
}

func TestLintWritesJSON(t *testing.T) {
	code, out, _ := callWith(t.Context(), "{\"mode\": \"<of>\"}", "lint", "--output", "json", "-")
	var got struct {
		File             string
		Errors, Warnings int
		Findings         []jsonFinding
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := jsonFinding{"error", "invalid", "mode", 1, 10, `"<of>" is unknown; write "enforce", "shadow" or "off"`}
	if code != exitFindings || got.File != "-" || got.Errors != 1 || got.Warnings != 0 || len(got.Findings) != 1 || got.Findings[0] != want {
		t.Errorf("code %d, stdout %s", code, out)
	}
	if code, out, _ := callWith(t.Context(), `{"default": {"identity": "ip", "limit": 1, "window": "1m"}}`, "lint", "--output", "json", "-"); code != exitOK || !strings.Contains(out, `"findings": []`) {
		t.Errorf("code %d, stdout %s", code, out)
	}
}

func TestLintKnowsThreeOutputs(t *testing.T) {
	code, out, err := callWith(t.Context(), "{}", "lint", "--output", "xml", "-")
	if code != exitUsage || out != "" || !strings.Contains(err, `"xml" is unknown; write text, json or github`) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestLintAnnotatesForGitHub(t *testing.T) {
	path := write(t, "a,b:c.json", unwise)
	code, out, _ := call(t, "lint", "--output", "github", path)
	lines := strings.Split(out, "\n")
	name := strings.NewReplacer(":", "%3A", ",", "%2C").Replace(path)
	if code != exitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "::warning file="+name+",line=2,col=3,title=default-null::default: every request") {
		t.Errorf("code %d, stdout %q", code, out)
	}
	broken := write(t, "envoy.yaml", shippedWith(t, `"limit": 30, "window": "1m"`, `"limit": 30, "window": "100%"`))
	if _, out, _ = call(t, "lint", "--output", "github", broken); !strings.Contains(out, "::error file=") || !strings.Contains(out, `"100%25"`) {
		t.Errorf("stdout %q", out)
	}
}

func TestLintRequiresDeclaredRoutesIfAsked(t *testing.T) {
	code, out, _ := call(t, "lint", "--require-declared", "../../envoy.yaml")
	if code != exitFindings || !strings.Contains(out, "[undeclared]") {
		t.Errorf("code %d, stdout %q", code, out)
	}
	if code, out, err := callWith(t.Context(), "{}", "lint", "--require-declared", "-"); code != exitUsage || out != "" || !strings.Contains(err, "; give ") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

// All files are checked, and the exit code is the worst.
func TestLintTakesSeveralFiles(t *testing.T) {
	good := write(t, "good.yaml", "default: {identity: ip, limit: 1, window: 1m}\n")
	bad, absent := write(t, "bad.json", `{"mode": "of"}`), filepath.Join(t.TempDir(), "absent.json")
	for name, c := range map[string]struct {
		files []string
		code  int
		out   []string
		err   string
	}{
		"good ones":    {[]string{good, good}, exitOK, []string{good + ": no errors, no warnings\n" + good + ": no errors, no warnings\n"}, ""},
		"a bad one":    {[]string{bad, good}, exitFindings, []string{bad + ":1:10: error: mode: ", good + ": no errors"}, ""},
		"an absent":    {[]string{absent, bad, good}, exitUsage, []string{bad + ":1:10: error: mode: ", good + ": no errors"}, absent},
		"absent twice": {[]string{absent, good, good + "x"}, exitUsage, []string{good + ": no errors"}, good + "x"},
	} {
		code, out, err := call(t, append([]string{"lint"}, c.files...)...)
		if code != c.code || !strings.Contains(err, c.err) || c.err == "" && err != "" {
			t.Errorf("%s: code %d, stderr %q", name, code, err)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: stdout lacks %q:\n%s", name, want, out)
			}
		}
	}
	if code, out, err := call(t, "lint"); code != exitUsage || out != "" || !strings.Contains(err, "--help") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestSchemaPrintsTheCommittedSchema(t *testing.T) {
	want, err := os.ReadFile("../../policy/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if code, out, err := call(t, "schema"); code != exitOK || out != string(want) || err != "" {
		t.Errorf("code %d, %d bytes, stderr %q", code, len(out), err)
	}
}
