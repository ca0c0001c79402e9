package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// taken is a cell with the figures that ratios are made of.
func taken(round int, key string, p50, p99, perSecond float64) cell {
	return cell{Round: round, Connections: 64, Column: key, P50: p50, P99: p99, RequestsPerSecond: perSecond}
}

func TestRatiosCompareWithinEachRound(t *testing.T) {
	cells := []cell{
		taken(1, keyNone, 100, 200, 20000), taken(1, keyProxied, 150, 250, 16000), taken(1, keyService, 300, 600, 10000),
		taken(2, keyService, 500, 800, 8000), taken(2, keyNone, 300, 400, 16000), taken(2, keyProxied, 320, 440, 12800),
	}
	// Other loads must not mix in.
	other := taken(1, keyNone, 1, 1, 1)
	other.Connections = 8
	got := ratios(append(cells, other), []int{64}, []string{keyNone, keyProxied, keyService})
	want := []ratio{
		{addedP50, keyProxied, 64, spread{0.175, 0.1, 0.25, 2}, 0.2},
		{addedP99, keyProxied, 64, spread{0.1125, 0.1, 0.125, 2}, 0.15},
		{addedWorker, keyProxied, 64, spread{0.25, 0.25, 0.25, 2}, 0.15},
		{throughput, keyProxied, 64, spread{0.8, 0.8, 0.8, 2}, 0.85},
		{throughput, keyService, 64, spread{0.5, 0.5, 0.5, 2}, 0},
	}
	approximate := cmpopts.EquateApprox(1e-9, 0)
	if diff := cmp.Diff(want, got, approximate, cmp.AllowUnexported(ratio{})); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestRatiosLeaveOutRoundsThatDefineNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []cell
		want  int // rounds of the added p50
	}{
		{"all there", []cell{taken(1, keyNone, 1, 1, 9), taken(1, keyDirect, 2, 2, 8), taken(1, keyService, 3, 3, 7)}, 1},
		{"the service added nothing", []cell{taken(1, keyNone, 3, 1, 9), taken(1, keyDirect, 2, 2, 8), taken(1, keyService, 3, 3, 7)}, 0},
		{"the service was faster than nothing", []cell{taken(1, keyNone, 4, 1, 9), taken(1, keyDirect, 2, 2, 8), taken(1, keyService, 3, 3, 7)}, 0},
		{"no service", []cell{taken(1, keyNone, 1, 1, 9), taken(1, keyDirect, 2, 2, 8)}, 0},
		{"no base", []cell{taken(1, keyDirect, 2, 2, 8), taken(1, keyService, 3, 3, 7)}, 0},
		{"in different rounds", []cell{taken(1, keyNone, 1, 1, 9), taken(2, keyDirect, 2, 2, 8), taken(1, keyService, 3, 3, 7)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rounds := 0
			for _, r := range ratios(c.cells, []int{64}, keys(allColumns())) {
				if r.Name == addedP50 && r.Column == keyDirect {
					rounds = r.Rounds
				}
			}
			if rounds != c.want {
				t.Errorf("the added p50 is defined in %d rounds, want %d", rounds, c.want)
			}
		})
	}
}
