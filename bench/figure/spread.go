// Package figure sums up figures over rounds and shows them to people and programs.
package figure

import (
	"math"
	"slices"
)

// Spread sums up the rounds of one figure.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Rounds int     `json:"rounds"` // in which it was defined
}

// SpreadOf leaves out NaN. Without any value it is the zero Spread.
func SpreadOf(values []float64) Spread {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return Spread{}
	}
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1], Rounds: n}
}
