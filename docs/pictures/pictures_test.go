package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/limit"
)

// The pictures are what the model decides, for every algorithm that there is, and the page shows each.
func TestThePicturesAreWhatTheModelDecides(t *testing.T) {
	page, err := os.ReadFile("../algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	for _, s := range scenes {
		drawn[s.limit.Algorithm.String()] = true
		want := s.draw()
		got, err := os.ReadFile(s.file())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is out of date; run: go run ./docs/pictures\n%s", s.file(), diff)
		}
		if !strings.Contains(string(page), "(pictures/"+s.file()+")") {
			t.Errorf("algorithms.md does not show %s", s.file())
		}
		for decoder := xml.NewDecoder(strings.NewReader(want)); ; {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", s.file(), err)
			}
		}
	}
	for _, name := range limit.AlgorithmNames() {
		if !drawn[name] {
			t.Errorf("there is no picture of %s", name)
		}
	}
}

// choosing.md says how many pass within a minute at most.
func TestMostWithinAMinuteIsWhatThePageSays(t *testing.T) {
	page, err := os.ReadFile("../choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		if row := fmt.Sprintf("| `%s` | %d |", s.title, most(s.play())); !strings.Contains(string(page), row) {
			t.Errorf("choosing.md has no row %q", row)
		}
	}
}
