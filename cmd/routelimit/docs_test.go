package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every command of the page is run in the project's folder, and prints what stands
// behind it; with UPDATE_GOLDEN set the page is written anew.
func TestThePageAboutSimulateIsTrue(t *testing.T) {
	t.Chdir("../..")
	const name, prompt, fence = "docs/simulate.md", "$ build/routelimit ", "```"
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
	if ran < 3 {
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
