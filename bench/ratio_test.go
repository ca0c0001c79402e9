package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routelimit/bench/figure"
	"routelimit/bench/load"
)

const (
	plainService    = "ratelimit"
	windowedService = "ratelimit-window"
)

var (
	at64 = loading{Connections: 64, Identities: load.Hot}
	open = loading{Connections: openConnections, Rate: 1000, Identities: load.Mix}
)

// taken is a cell with the figures that ratios are made of.
func taken(round int, key string, p50, p99, perSecond float64) cell {
	return cell{Round: round, Load: at64, Column: key, P50: p50, P99: p99, RequestsPerSecond: perSecond, EnvoyCPU: p50 / 10}
}

func spread(median, least, most float64, rounds int) figure.Spread {
	return figure.Spread{Median: median, Least: least, Most: most, Rounds: rounds}
}

func TestRatiosCompareWithinEachRound(t *testing.T) {
	cells := []cell{
		taken(1, keyNone, 100, 200, 20000), taken(1, keyProxied, 150, 250, 16000), taken(1, plainService, 300, 600, 10000),
		taken(2, plainService, 500, 800, 8000), taken(2, keyNone, 300, 400, 16000), taken(2, keyProxied, 320, 440, 12800),
	}
	// Other loads must not mix in.
	other := taken(1, keyNone, 1, 1, 1)
	other.Load.Connections = 8
	got := ratios(append(cells, other), []loading{at64}, []string{keyNone, keyProxied, plainService})
	want := []ratio{
		{addedP50, keyProxied, at64, plainService, spread(0.175, 0.1, 0.25, 2), 0.2},
		{addedP99, keyProxied, at64, plainService, spread(0.1125, 0.1, 0.125, 2), 0.15},
		{addedWorker, keyProxied, at64, plainService, spread(0.25, 0.25, 0.25, 2), 0.15},
		{addedCPU, keyProxied, at64, plainService, spread(0.175, 0.1, 0.25, 2), 0},
		{throughput, keyProxied, at64, keyNone, spread(0.8, 0.8, 0.8, 2), 0.85},
		{throughput, plainService, at64, keyNone, spread(0.5, 0.5, 0.5, 2), 0},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestRatiosLeaveOutRoundsThatDefineNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []cell
		want  int // rounds of the added p50
	}{
		{"all there", []cell{taken(1, keyNone, 1, 1, 9), taken(1, "direct", 2, 2, 8), taken(1, plainService, 3, 3, 7)}, 1},
		{"the service added nothing", []cell{taken(1, keyNone, 3, 1, 9), taken(1, "direct", 2, 2, 8), taken(1, plainService, 3, 3, 7)}, 0},
		{"the service was faster than nothing", []cell{taken(1, keyNone, 4, 1, 9), taken(1, "direct", 2, 2, 8), taken(1, plainService, 3, 3, 7)}, 0},
		{"no service", []cell{taken(1, keyNone, 1, 1, 9), taken(1, "direct", 2, 2, 8)}, 0},
		{"no base", []cell{taken(1, "direct", 2, 2, 8), taken(1, plainService, 3, 3, 7)}, 0},
		{"in different rounds", []cell{taken(1, keyNone, 1, 1, 9), taken(2, "direct", 2, 2, 8), taken(1, plainService, 3, 3, 7)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rounds := 0
			for _, r := range ratios(c.cells, []loading{at64}, keys(allColumns())) {
				if r.Name == addedP50 && r.Column == "direct" {
					rounds = r.Rounds
				}
			}
			if rounds != c.want {
				t.Errorf("the added p50 is defined in %d rounds, want %d", rounds, c.want)
			}
		})
	}
}

// TestRatiosTakeTheBetterFormOfTheService has one form that is better at p50 and the other at p99.
func TestRatiosTakeTheBetterFormOfTheService(t *testing.T) {
	cells := []cell{
		taken(1, keyNone, 0, 0, 100), taken(1, keyProxied, 10, 10, 90),
		taken(1, plainService, 40, 200, 50), taken(1, windowedService, 50, 100, 60),
	}
	got := map[string]string{}
	for _, r := range ratios(cells, []loading{at64}, keys(allColumns())) {
		if r.Column == keyProxied {
			got[r.Name] = r.Against
		}
	}
	want := map[string]string{addedP50: plainService, addedP99: windowedService, addedWorker: windowedService, addedCPU: plainService, throughput: keyNone}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compared with (-want +got):\n%s", diff)
	}
}

// TestRatiosSayWhatTheLoadAllows compares no throughput at a fixed rate, and what asks seldom with an idle module too.
func TestRatiosSayWhatTheLoadAllows(t *testing.T) {
	cells := []cell{taken(1, keyNone, 1, 1, 100), taken(1, keyIdle, 2, 2, 80), taken(1, keyDeny, 1, 1, 120), taken(1, plainService, 9, 9, 20)}
	for _, c := range cells[:4:4] {
		c.Load = open
		cells = append(cells, c)
	}
	for _, r := range ratios(cells, []loading{at64, open}, keys(allColumns())) {
		switch {
		case r.Load == open && (r.Name == throughput || r.Name == addedWorker):
			t.Errorf("%+v", r)
		case r.Against == keyIdle:
			if want := (ratio{throughput, keyDeny, at64, keyIdle, spread(1.5, 1.5, 1.5, 1), 0.9}); r != want {
				t.Errorf("against idle: %+v, want %+v", r, want)
			}
		}
	}
}
