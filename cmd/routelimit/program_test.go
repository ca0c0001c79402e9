package main

import (
	"bytes"
	"context"
	"runtime/debug"
	"strings"
	"testing"
)

// call runs the program with nothing on standard input.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t.Context(), "", args...)
}

func callWith(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = program(ctx, args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

func TestUsageErrorsExitTwoAndPointToHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown verb":      {"lnit"},
		"unknown flag":      {"run", "--prot", "1"},
		"bad value":         {"run", "--port", "http"},
		"surplus argument":  {"run", "now"},
		"missing argument":  {"lint"},
		"surplus arguments": {"explain", "GET", "/", "x"},
		"version of what":   {"version", "x"},
		"schema of what":    {"schema", "x"},
	} {
		code, out, err := call(t, args...)
		if code != exitUsage || out != "" || !strings.HasPrefix(err, "routelimit: ") || !strings.Contains(err, "--help") ||
			strings.Count(err, "\n") != 1 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, err)
		}
	}
}

func TestHelpNamesEveryVerb(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		code, out, err := call(t, args...)
		if code != exitOK || err != "" {
			t.Errorf("%v: code %d, stderr %q", args, code, err)
		}
		for _, verb := range []string{
			"\n  run ", "\n  lint ", "\n  test ", "\n  peek ", "\n  reset ", "\n  top ", "\n  explain ", "\n  simulate ", "\n  diff ",
			"\n  import ", "\n  hash ", "\n  render ", "\n  bridge ", "\n  schema ", "\n  upstream ", "\n  version ",
		} {
			if !strings.Contains(out, verb) {
				t.Errorf("%v: help lacks %q:\n%s", args, verb, out)
			}
		}
	}
}

func TestVersionNamesTheProgram(t *testing.T) {
	code, out, err := call(t, "version")
	if code != exitOK || err != "" || !strings.HasPrefix(out, "routelimit ") || !strings.Contains(out, "go1.") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestVersionLineTellsReleasesFromCommits(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}}
	for want, info := range map[string]*debug.BuildInfo{
		"routelimit, of unknown version":   nil,
		"routelimit v1.2.3 (go1.26)":       {GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: commit},
		"routelimit devel abc123 (go1.26)": {GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}, Settings: commit},
		"routelimit devel (go1.26)":        {GoVersion: "go1.26"},
	} {
		if got := versionLine(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	released = "v2.0.0"
	t.Cleanup(func() { released = "" })
	if got := versionLine(&debug.BuildInfo{GoVersion: "go1.26", Settings: commit}); got != "routelimit v2.0.0 (go1.26)" {
		t.Errorf("a release: %q", got)
	}
}
