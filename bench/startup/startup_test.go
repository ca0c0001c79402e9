package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/figure"
	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/bootstrap"
)

func TestParseSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.json")
	got, err := parseSettings([]string{"-rounds", "2", "-seconds", "3", "-rate", "100", "-json", file}, io.Discard)
	if err != nil || got != (settings{2, 3, 100, file}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, args := range [][]string{{"-rounds", "0"}, {"-seconds", "0"}, {"-rate", "10001"}, {"more"}, {"-json", "/missing/f"}, {"-what"}} {
		if got, err := parseSettings(args, io.Discard); err == nil {
			t.Errorf("%v: no error, but %+v", args, got)
		}
	}
}

func TestModuleSizeIsThatOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(file, bytes.Repeat([]byte("routelimit"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := moduleSize(file)
	if err != nil || got.Plain != 100_000 || got.Gzipped < 50 || got.Gzipped > 1000 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := moduleSize(file + "x"); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// TestVersionsDiffer takes the listener of two versions of each subject out of the shipped configuration: Envoy takes no
// update over that changes nothing.
func TestVersionsDiffer(t *testing.T) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects() {
		var versions []map[string]any
		for version := range 2 {
			c, err := bootstrap.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.change(version)(c); err != nil {
				t.Fatal(err)
			}
			rest, listener, err := stand.TakeListener(c.Bytes(), "/folder")
			if err != nil {
				t.Fatal(err)
			}
			versions = append(versions, listener)
			if !bytes.Contains(rest, []byte("/folder/listeners.json")) || bytes.Contains(rest, []byte(`name: public`)) {
				t.Errorf("%s: the rest reads no file, or has the listener still", s.title)
			}
		}
		if cmp.Equal(versions[0], versions[1]) {
			t.Errorf("%s: both versions are the same", s.title)
		}
	}
}

func TestReportShowsWhatWasFound(t *testing.T) {
	r := report{
		Settings: settings{Rounds: 2, Seconds: 8, Rate: 500}, Size: size{4_500_000, 1_290_000},
		Starts: []startReport{{"routelimit", figure.SpreadOf([]float64{1000, 3000}), figure.SpreadOf([]float64{1010, 3020}),
			figure.SpreadOf([]float64{4000, 5000}), figure.SpreadOf([]float64{5.5, 6.5})}},
		Memory:  []memoryReport{{"routelimit", map[int]int64{1: 100e6, 4: 160e6}, 20e6}},
		Updates: []updateReport{{"routelimit", 3, 8000, 2, latencies{0.5, 2, 10}, latencies{0.6, 3, 25}}},
	}
	_, tables, _ := strings.Cut(r.text(), "module    ")
	want := `4.50 MB, 1.29 MB gzipped

from Envoy's start, ms, median (least … most)               ready      first decision      CPU until then  that request alone
routelimit                                     2000 (1000 … 3000)  2015 (1010 … 3020)  4500 (4000 … 5000)     6.0 (5.5 … 6.5)

Envoy's memory, MB  1 worker  4 workers  each further worker
routelimit               100        160                 20.0

updates under load, ms  updates  requests  failed  sent again  without: p50  p99  longest  with: p50  p99  longest
routelimit                    3      8000       0           2           0.5  2.0     10.0        0.6  3.0     25.0
`
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestLatenciesAreThoseOfAllRequests(t *testing.T) {
	r := &load.Result{Answers: []load.Answer{{Took: time.Millisecond}, {Took: 3 * time.Millisecond}}, Waiting: []load.Answer{{Took: time.Second}}}
	if got := latenciesOf(r); got != (latencies{3, 1000, 1000}) {
		t.Errorf("%+v", got)
	}
}
