package main

import (
	"math"
	"slices"
)

// spread sums up the rounds of one figure.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Rounds int     `json:"rounds"` // in which it was defined
}

// spreadOf leaves out NaN. Without any value it is the zero spread.
func spreadOf(values []float64) spread {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return spread{}
	}
	return spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1], Rounds: n}
}
