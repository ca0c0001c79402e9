package figure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadOfSumsUpRounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"none", nil, Spread{}},
		{"one", []float64{3}, Spread{3, 3, 3, 1}},
		{"an odd number, unsorted", []float64{9, 1, 4}, Spread{4, 1, 9, 3}},
		{"an even number", []float64{9, 1, 4, 2}, Spread{3, 1, 9, 4}},
		{"negative", []float64{-2, 1, -1}, Spread{-1, -2, 1, 3}},
		{"undefined left out", []float64{math.NaN(), 5, math.NaN(), 7}, Spread{6, 5, 7, 2}},
		{"all undefined", []float64{math.NaN()}, Spread{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, SpreadOf(c.values)); diff != "" {
				t.Errorf("spread (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpreadOfLeavesItsArgumentAsItIs(t *testing.T) {
	values := []float64{3, math.NaN(), 1}
	SpreadOf(values)
	if values[0] != 3 || !math.IsNaN(values[1]) || values[2] != 1 {
		t.Errorf("values became %v", values)
	}
}
