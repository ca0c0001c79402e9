package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOverlayChangesTheRuntimeInUse(t *testing.T) {
	out := t.TempDir()
	source := filepath.Join(runtime.GOROOT(), "src", "runtime")
	if err := write(source, out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	if len(overlay.Replace) != len(replacements) {
		t.Fatalf("%d files replaced, want %d", len(overlay.Replace), len(replacements))
	}
	for original, derived := range overlay.Replace {
		before, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(derived)
		if err != nil {
			t.Fatal(err)
		}
		if string(before) == string(after) {
			t.Errorf("%s is unchanged", derived)
		}
	}
}

func TestOverlayFailsWhereTheRuntimeHasChanged(t *testing.T) {
	r := replacement{file: "os_wasip1.go", old: "func usleep", new: "func nap"}
	for name, text := range map[string]string{"gone": "package runtime", "twice": "func usleep; func usleep"} {
		if _, err := derive(text, r); err == nil || !strings.Contains(err.Error(), "os_wasip1.go") {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}
