package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlignPutsTheFirstColumnLeftAndTheOthersRight(t *testing.T) {
	for _, c := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"nothing", nil, ""},
		{"numbers", [][]string{{"", "p50 us"}, {"long name", "1"}}, "           p50 us\nlong name       1\n"},
		{"a heading widens nothing", [][]string{{"a", "b"}, {"a long heading"}, {"c", "d"}}, "a  b\na long heading\nc  d\n"},
		{"runes, not bytes", [][]string{{"a", "1 … 2"}, {"b", "12345"}}, "a  1 … 2\nb  12345\n"},
		{"no blanks at the end", [][]string{{"a", "b"}, {"c", ""}}, "a  b\nc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, align(c.rows)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

// twoRounds is a small measurement in which one round defines no added p50.
func twoRounds() report {
	cells := []cell{
		taken(1, keyNone, 100, 200, 20000), taken(1, keyProxied, 150, 250, 16000), taken(1, keyService, 300, 600, 10000),
		taken(2, keyNone, 300, 400, 16000), taken(2, keyProxied, 320, 440, 12800), taken(2, keyService, 200, 800, 8000),
	}
	for i := range cells {
		if cells[i].Column != keyNone {
			cells[i].Decisions, cells[i].EnvoyCPU = 1, 12.34
		}
	}
	s := settings{Rounds: 2, Seconds: 1, Warmup: 1, Connections: []int{64}, Columns: []string{keyNone, keyProxied, keyService}, EnvoyWorkers: 1}
	return newReport(machine{CPU: "a CPU", Cores: 2}, versions{Service: "1.0 MB"}, s, cells)
}

func TestReportShowsFiguresAndRatios(t *testing.T) {
	var out strings.Builder
	if err := twoRounds().write(&out); err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(out.String(), "\n\n")
	want := `
medians over the rounds  p50 us  p99 us  requests/s  added p50  added p99  asks Redis  CPU us: Envoy  Redis  service
64 connections
  no limiter                200     300       18000                              0.00            0.0    0.0      0.0
  routelimit                235     345       14400         35         45        1.00           12.3    0.0      0.0
  envoyproxy/ratelimit      250     700        9000         50        400        1.00           12.3    0.0      0.0

median (least … most)                             routelimit  envoyproxy/ratelimit  goal
against envoyproxy/ratelimit
  added p50, 64 connections          0.25 (0.25 … 0.25) in 1                         0.2
  added p99, 64 connections               0.11 (0.10 … 0.12)                        0.15
  added worker time, 64 connections       0.25 (0.25 … 0.25)                        0.15
against no limiter
  requests/s, 64 connections              0.80 (0.80 … 0.80)    0.50 (0.50 … 0.50)  0.85
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestReportWithoutNoLimiterHasNoRatios(t *testing.T) {
	s := settings{Rounds: 1, Connections: []int{64}, Columns: []string{keyProxied}}
	var out strings.Builder
	if err := newReport(machine{}, versions{}, s, []cell{taken(1, keyProxied, 1, 2, 3)}).write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "no ratios: ") {
		t.Errorf("the report does not say that ratios are missing:\n%s", out.String())
	}
}
