package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/stand"
)

// twoRounds is a small measurement in which one round defines no added p50.
func twoRounds() report {
	cells := []cell{
		taken(1, keyNone, 100, 200, 20000), taken(1, keyProxied, 150, 250, 16000), taken(1, plainService, 300, 600, 10000),
		taken(2, keyNone, 300, 400, 16000), taken(2, keyProxied, 320, 440, 12800), taken(2, plainService, 200, 800, 8000),
	}
	for i := range cells {
		cells[i].EnvoyCPU = 2
		if cells[i].Column != keyNone {
			cells[i].Decisions, cells[i].Calls, cells[i].EnvoyCPU = 1, 5, 12.34
		}
	}
	s := settings{Rounds: 2, Seconds: 1, Warmup: 1, Loads: []loading{at64}, Columns: []string{keyNone, keyProxied, plainService}, EnvoyWorkers: 1}
	return newReport(stand.Machine{CPU: "a CPU", Cores: 2}, stand.Versions{Envoy: "1.40.0", Redis: "Redis 8.2.3", Service: "1.0 MB"}, s, cells)
}

func TestReportShowsFiguresAndRatios(t *testing.T) {
	var out strings.Builder
	if err := twoRounds().write(&out); err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(out.String(), "\n\n")
	want := `
medians over the rounds  p50 us  p90  p99  p99.9  requests/s  added p50  added p99  asks Redis  runs there  CPU us: Envoy  Redis  service
64 connections
  no limiter                200    0  300      0       18000                              0.00        0.00            2.0    0.0      0.0
  routelimit                235    0  345      0       14400         35         45        1.00        5.00           12.3    0.0      0.0
  envoyproxy/ratelimit      250    0  700      0        9000         50        400        1.00        5.00           12.3    0.0      0.0

against the better envoyproxy/ratelimit, median (least … most)               routelimit  goal
added p50, 64 connections                                       0.25 (0.25 … 0.25) in 1   0.2
added p99, 64 connections                                            0.11 (0.10 … 0.12)  0.15
added worker time, 64 connections                                    0.25 (0.25 … 0.25)  0.15
added CPU of all servers, 64 connections                             1.00 (1.00 … 1.00)

against no limiter, median (least … most)          routelimit  envoyproxy/ratelimit  goal
requests/s, 64 connections                 0.80 (0.80 … 0.80)    0.50 (0.50 … 0.50)  0.85
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestReportWithoutNoLimiterHasNoRatios(t *testing.T) {
	s := settings{Rounds: 1, Loads: []loading{at64}, Columns: []string{keyProxied}}
	var out strings.Builder
	if err := newReport(stand.Machine{}, stand.Versions{}, s, []cell{taken(1, keyProxied, 1, 2, 3)}).write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "no ratios: ") {
		t.Errorf("the report does not say that ratios are missing:\n%s", out.String())
	}
}

func TestReportDrawsARowForEachColumn(t *testing.T) {
	r := twoRounds()
	r.Settings.Columns = append(r.Settings.Columns, keyLease) // of which there is no cell
	svg := string(r.plot())
	for _, key := range r.Settings.Columns {
		if !strings.Contains(svg, ">"+title(key)+"<") {
			t.Errorf("the picture lacks %s", title(key))
		}
	}
	for _, want := range []string{"64 connections", ">35<", ">14400<", "not measured", "Medians of 2 rounds"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

func TestReportSaysWhichColumnsDidNotKeepUp(t *testing.T) {
	c := taken(1, keyProxied, 1, 2, 3)
	c.Load, c.Waiting, c.LoadShare, c.LateP99 = open, 7, 0.25, 80
	s := settings{Rounds: 1, Loads: []loading{open}, Columns: []string{keyProxied}}
	var out strings.Builder
	if err := newReport(stand.Machine{}, stand.Versions{}, s, []cell{c}).write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"routelimit (did not keep up)", "took 25% of a core", "within 80 us", "1000 requests a second, 100000 callers, few busy"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}
