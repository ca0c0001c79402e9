package main

import (
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
	if code != exitOK || out != "../../envoy.yaml: no errors\n" || err != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestLintOfAPolicyListsAllErrorsWithTheirPlaces(t *testing.T) {
	path := write(t, "policy.json", "{\n  \"default\": null,\n  \"routes\": {\n"+
		"    \"POST /login\": { \"identity\": \"ip\", \"limit\": 10, \"windo\": \"5m\" },\n"+
		"    \"GET /a\": { \"identity\": \"ip\", \"limit\": -1, \"window\": \"60\" }\n  }\n}\n")
	code, out, _ := call(t, "lint", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitFindings || len(lines) < 4 || !strings.HasSuffix(lines[len(lines)-1], " errors") {
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
	want := path + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column) + `: routes["POST /orders"].window: `
	if code != exitFindings || !strings.HasPrefix(out, want) {
		t.Errorf("code %d, stdout %q, want %q", code, out, want)
	}
}

func TestLintOfBrokenJSONIsAFinding(t *testing.T) {
	path := write(t, "policy.json", "{\n  \"mode\": \"enforce\",,\n}")
	code, out, _ := call(t, "lint", path)
	if code != exitFindings || !strings.HasPrefix(out, path+":2:") || !strings.HasSuffix(out, "1 error\n") {
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
	if code != exitFindings || !strings.HasPrefix(out, "-:1:10: mode: ") {
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
