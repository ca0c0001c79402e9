package page

import (
	"fmt"
	"math"

	"routelimit/simulate"
)

// distribution draws how many identities used how much of a limit at their peak,
// with the limit as a line. Heights are logarithmic: the few that matter stand
// beside the many that do not.
func distribution(l simulate.Limit) *chart {
	c := newChart(fmt.Sprintf("identities of limit %s by their peak use", l.Name), "peak use of one identity")
	bins := withLimit(l.Distribution, l.Number)
	most := int64(1)
	for _, b := range bins {
		most = max(most, b.Identities)
	}
	rise := func(n int64) float64 {
		return plotHeight * math.Log1p(float64(n)) / math.Log1p(float64(ceiling(most)))
	}
	each := plotWidth / float64(len(bins))
	skip := (len(bins)*26 + int(plotWidth) - 1) / int(plotWidth) // labels that would run into each other
	for i, b := range bins {
		x := left + float64(i)*each
		if i%skip == 0 {
			c.Along = append(c.Along, tick{x + each/2, short(b.From)})
		}
		if mark := markIn(b, l.Number); mark >= 0 {
			c.Mark = &tick{x + each*mark, l.Unit + " " + grouped(l.Number)}
			c.MarkEnd = c.Mark.At > left+plotWidth*0.6
		}
		if b.Identities == 0 {
			continue
		}
		class := "passed"
		if b.From > l.Number {
			class = "refused"
		}
		one := bar{
			X: x + each*0.06, Y: c.Bottom - rise(b.Identities), Width: each * 0.88, Height: rise(b.Identities), Class: class,
			Title: fmt.Sprintf("%s identities used %s", grouped(b.Identities), between(b)),
		}
		if skip == 1 || b.Identities > 0 && i%skip == 0 {
			one.Count = short(b.Identities)
		}
		c.Bars = append(c.Bars, one)
	}
	for n := int64(1); n <= ceiling(most); n *= 10 {
		c.Across = append(c.Across, tick{c.Bottom - rise(n), short(n)})
	}
	return c
}

// withLimit adds empty bins up to the one that holds the limit, as long as the plot
// stays readable.
func withLimit(bins []simulate.Bin, number int64) []simulate.Bin {
	const most = 40
	bins = append([]simulate.Bin(nil), bins...)
	for len(bins) < most && bins[len(bins)-1].To < number {
		from := bins[len(bins)-1].To + 1
		bins = append(bins, simulate.Bin{From: from, To: simulate.NextStep(from) - 1})
	}
	for len(bins) < most && bins[0].From > 1 && number < bins[0].From {
		bins = append([]simulate.Bin{{From: 1, To: bins[0].From - 1}}, bins...)
	}
	return bins
}

// markIn is where in a bin the limit's line stands, from 0 to 1, or -1.
func markIn(b simulate.Bin, number int64) float64 {
	if number < b.From || number > b.To {
		return -1
	}
	return float64(number-b.From+1) / float64(b.To-b.From+1)
}

func between(b simulate.Bin) string {
	if b.From == b.To {
		return grouped(b.From)
	}
	return grouped(b.From) + " to " + grouped(b.To)
}
