package load

import (
	"math"
	"slices"
	"time"
)

// Times are durations of which quantiles are wanted.
type Times []time.Duration

// Quantiles gives for each q the smallest time that a share of at least q of all does not exceed (the nearest rank). None
// are 0.
func (t Times) Quantiles(qs ...float64) []time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	got := make([]time.Duration, len(qs))
	for i, q := range qs {
		if len(sorted) > 0 {
			// Rounding must not lift 0.999 of 1000 over 999.
			rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9))
			got[i] = sorted[min(max(rank, 1), len(sorted))-1]
		}
	}
	return got
}
