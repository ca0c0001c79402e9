package main

import (
	"math"
	"strings"
	"testing"

	"routelimit/bench/figure"
)

// measured are points of a Redis that costs exactly this.
func measured(c cost, rates ...int) (points []fleetPoint) {
	for _, rate := range rates {
		points = append(points, fleetPoint{
			Envoys: 10, Rate: rate, PerSecond: figure.SpreadOf([]float64{float64(rate)}), CPU: figure.SpreadOf([]float64{c.at(float64(rate))}),
		})
	}
	return points
}

func TestFitCostFindsTheCostThatPointsWereMadeOf(t *testing.T) {
	want := cost{Alone: 25, Wake: 16}
	points := measured(want, 5000, 20_000, 80_000)
	odd := measured(cost{Alone: 90, Wake: 1}, fleetRates[0], 120_000) // asleep, and late
	odd[1].Late = true
	got, ok := fitCost(append(points, odd...))
	if !ok || math.Abs(got.Alone-25) > 1e-6 || math.Abs(got.Wake-16) > 1e-6 {
		t.Errorf("fitCost = %+v, %v; want %+v", got, ok, want)
	}
	for name, points := range map[string][]fleetPoint{
		"nothing": nil, "one point": points[:1], "the same rate twice": append(points[:1:1], points[0]),
		"dearer under load": {measured(cost{Alone: 10}, 5000)[0], measured(cost{Alone: 20}, 80_000)[0]},
		"nobody measured":   {{Rate: 5000}, {Rate: 80_000}},
	} {
		if got, ok := fitCost(points); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestCostAgreesWithItself(t *testing.T) {
	c := cost{Alone: 25, Wake: 15}
	for _, share := range []float64{0.1, 0.6, 1} {
		rate := c.perSecond(share)
		if got := rate * c.at(rate) / 1e6; math.Abs(got-share) > 1e-9 {
			t.Errorf("%v decisions a second keep Redis busy for %v of a core, not %v", rate, got, share)
		}
	}
	if got := c.perSecond(1); math.Abs(got-100_000) > 1e-6 {
		t.Errorf("fully busy at %v a second, want 1 / (25 us - 15 us)", got)
	}
}

func TestNeedsGrowWithTheFleet(t *testing.T) {
	list := needs(cost{Alone: 25, Wake: 15}, 160, 40)
	first, last := list[0], list[len(list)-1]
	if first.PerSecond != 1000 || first.Primaries != 1 || first.EachHas != 20 || math.Abs(first.Cores-0.0246) > 1e-3 {
		t.Errorf("10 Envoys of 100 a second: %+v", first)
	}
	// A million a second, 100,000 of which fill a core, and 37,500 sixty percent of it.
	if last.Envoys != 1000 || last.PerSecond != 1e6 || last.Cores != 10 || last.Primaries != 27 || last.EachHas != 2000 || last.MegabitsIn != 1280 {
		t.Errorf("1,000 Envoys of 1,000 a second: %+v", last)
	}
	text := figure.Align(needRows(cost{Alone: 25, Wake: 15}, list))
	for _, want := range []string{"25.0 us alone, of which 15.0 us", "60% of a core"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// TestTogetherIsTheMeanOfAMessage compares the formula with the sum that it stands for: one at least, else those that
// came.
func TestTogetherIsTheMeanOfAMessage(t *testing.T) {
	for _, rate := range []float64{1, 500, 5000, 50_000} {
		meanwhile := rate * linkTime
		mean, chance := 0.0, math.Exp(-meanwhile)
		for k := 0.0; k < 400; k++ {
			mean += chance * max(1, k)
			chance *= meanwhile / (k + 1)
		}
		if got := together(rate); math.Abs(got-mean) > 1e-6 {
			t.Errorf("together(%v) = %v, want %v", rate, got, mean)
		}
	}
}
