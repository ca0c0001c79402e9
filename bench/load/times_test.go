package load

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQuantilesAreNearestRanks(t *testing.T) {
	thousand := make(Times, 1000)
	for i := range thousand {
		thousand[i] = time.Duration(1000 - i)
	}
	for _, c := range []struct {
		name  string
		times Times
		want  []time.Duration
	}{
		{"none", nil, []time.Duration{0, 0, 0, 0}},
		{"one", Times{7}, []time.Duration{7, 7, 7, 7}},
		{"three", Times{3, 1, 2}, []time.Duration{2, 3, 3, 3}},
		{"a thousand", thousand, []time.Duration{500, 900, 990, 999}},
	} {
		if diff := cmp.Diff(c.want, c.times.Quantiles(0.5, 0.9, 0.99, 0.999)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAQuantileIsNotExceededByItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 50).Draw(t, "times")
		q := float64(rapid.IntRange(1, 1000).Draw(t, "per mille")) / 1000
		times := make(Times, len(n))
		for i := range n {
			times[i] = time.Duration(n[i])
		}
		got := times.Quantiles(q)[0]
		below, at := 0, 0
		for _, one := range times {
			if one < got {
				below++
			}
			if one <= got {
				at++
			}
		}
		need := int(math.Round(q*1000)) * len(times)
		if at*1000 < need || below*1000 >= need {
			t.Errorf("%v of %v is %v: %d at most, %d below", q, times, got, at, below)
		}
	})
}
