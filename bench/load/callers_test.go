package load

import "testing"

func TestCallersAreDrawnAsTheirKindSays(t *testing.T) {
	const asked, number = 200_000, 100_000
	for _, c := range []struct {
		kind             string
		distinct, most   [2]int // how many callers, and how often the busiest: at least and at most
		firstHundredAsks [2]int
	}{
		{Hot, [2]int{1, 1}, [2]int{asked, asked}, [2]int{asked, asked}},
		{Many, [2]int{85_000, 88_000}, [2]int{8, 20}, [2]int{100, 300}},
		{Mix, [2]int{20_000, 45_000}, [2]int{25_500, 28_500}, [2]int{112_000, 120_000}},
	} {
		next, err := Callers(c.kind, number, 1)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for range asked {
			counts[next()]++
		}
		most, first := 0, 0
		for name, n := range counts {
			most = max(most, n)
			if name < "u10000100" {
				first += n
			}
			if len(name) != 9 {
				t.Fatalf("%s: a caller is called %q", c.kind, name)
			}
		}
		for what, got := range map[string][2]any{"callers": {len(counts), c.distinct}, "most": {most, c.most}, "first 100": {first, c.firstHundredAsks}} {
			n, want := got[0].(int), got[1].([2]int)
			if n < want[0] || n > want[1] {
				t.Errorf("%s: %s %d, want %v", c.kind, what, n, want)
			}
		}
	}
}

func TestCallersAreTheSameForTheSameSeed(t *testing.T) {
	for _, kind := range []string{Many, Mix} {
		one, _ := Callers(kind, 1000, 7)
		other, _ := Callers(kind, 1000, 7)
		for range 100 {
			if a, b := one(), other(); a != b {
				t.Fatalf("%s: %s and %s", kind, a, b)
			}
		}
	}
}

func TestCallersRefuseWhatTheyCannotDraw(t *testing.T) {
	for kind, number := range map[string]int{Many: 0, Hot: 10_000_001, "few": 1} {
		if _, err := Callers(kind, number, 1); err == nil {
			t.Errorf("%d callers of kind %q: no error", number, kind)
		}
	}
}
