package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePageAboutSimulateIsTrue(t *testing.T) { isTrue(t, "docs/simulate.md", 3) }

func TestThePageAboutTestsIsTrue(t *testing.T) { isTrue(t, "docs/testing-policies.md", 2) }

// isTrue runs every command of a page in the project's folder, at least so many, which print what stands behind
// them; with UPDATE_GOLDEN set the page is written anew.
func isTrue(t *testing.T, name string, least int) {
	t.Helper()
	t.Chdir("../..")
	const prompt, fence = "$ build/routelimit ", "```"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	ran, skipping := 0, false
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), prompt)
		switch {
		case ok:
			_, out, stderr := call(t, strings.Fields(command)...)
			if stderr != "" {
				t.Errorf("%s: %s", command, stderr)
			}
			written.WriteString(line + out)
			ran, skipping = ran+1, true
		case strings.HasPrefix(line, fence):
			written.WriteString(line)
			skipping = false
		case !skipping:
			written.WriteString(line)
		}
	}
	if ran < least {
		t.Errorf("%d commands", ran)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(name, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(page), written.String()); diff != "" && os.Getenv("UPDATE_GOLDEN") == "" {
		t.Errorf("the page says otherwise (-page +program):\n%s", diff)
	}
}
