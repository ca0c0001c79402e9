package simulate

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSuggestionsRefuseNoMoreThanTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPopulation(1 << 20)
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		most := rapid.Int64Range(1, 50).Draw(t, "most")
		for i := range n {
			p.saw(fmt.Sprint(i), 1+int64(i*i)%most, false, false)
		}
		peaks, _, _ := p.peaks()
		for _, share := range perMille {
			over := func(number int64) (n int64) {
				for _, peak := range peaks {
					if peak > number {
						n++
					}
				}
				return n
			}
			got := suggest(peaks, share)
			if over(got)*1000 > int64(n)*share || got > 1 && over(got-1)*1000 <= int64(n)*share {
				t.Fatalf("%d identities, %d of a thousand: %d refuses %d, %d refuses %d", n, share, got, over(got), got-1, over(got-1))
			}
		}
	})
}

func TestTooManyIdentitiesAreSampledFairly(t *testing.T) {
	p := newPopulation(1000)
	const n = 50_000
	for round := range 3 { // the peak comes last, and is seen of all that are kept
		for i := range n {
			p.saw(fmt.Sprintf("rl:{default|ip:10.0.%d.%d}", i/250, i%250), int64(1+i%100*round), i%10 == 0, i%20 == 0)
		}
	}
	peaks, refused, spared := p.peaks()
	if len(peaks) > 1000 || len(peaks) < 400 || p.oneIn != 64 {
		t.Fatalf("%d kept, one in %d", len(peaks), p.oneIn)
	}
	if got := int64(len(peaks)) * int64(p.oneIn); math.Abs(float64(got)-n) > n/8 {
		t.Errorf("about %d identities of %d", got, n)
	}
	if share := float64(refused) / float64(len(peaks)); math.Abs(share-0.1) > 0.03 {
		t.Errorf("%v were refused, of a tenth", share)
	}
	if share := float64(spared) / float64(len(peaks)); math.Abs(share-0.05) > 0.03 {
		t.Errorf("%v were spared, of a twentieth", share)
	}
	if got := suggest(peaks, 50); got < 185 || got > 199 { // 1, 3, …, 199 are equally many
		t.Errorf("95%% lie under %d", got)
	}
}

func TestBinsHoldAllPeaks(t *testing.T) {
	got := distribute([]int64{4, 4, 5, 9, 10, 14, 15, 1000})
	total := int64(0)
	for i, b := range got {
		total += b.Identities
		if b.From > b.To || i > 0 && b.From != got[i-1].To+1 {
			t.Errorf("bin %+v", b)
		}
	}
	if want := []Bin{{3, 4, 2}, {5, 6, 1}, {7, 9, 1}, {10, 14, 2}, {15, 19, 1}}; total != 8 || cmp.Diff(want, got[:5]) != "" || got[len(got)-1] != (Bin{1000, 1499, 1}) {
		t.Errorf("%+v", got)
	}
}

func TestOffendersStayBoundedAndSayHowFarTheyAreWrong(t *testing.T) {
	o := offenders{most: mostOffenders}
	for i := range 3 * mostOffenders {
		o.refused("often", int64(i), false)
		o.refused(fmt.Sprint(i), int64(i), false)
	}
	top := o.top(1)
	if len(o.known) > mostOffenders || top[0].Identity != "often" || top[0].Refused != 3*mostOffenders || o.floor < 1 || o.floor > 5 {
		t.Errorf("%d known, floor %d, %+v", len(o.known), o.floor, top)
	}
	if !top[0].First.Equal(timeOf(0)) || !top[0].Last.Equal(timeOf(3*mostOffenders-1)) {
		t.Errorf("%+v", top)
	}
}

func TestWorstMinuteIsTheFirstOfTheWorst(t *testing.T) {
	var m minutes
	for _, at := range []int64{0, 1, 60_000, 60_001, 119_999, 180_000, 180_001, 180_002} {
		m.add(at, at != 180_001, at == 60_001)
	}
	m.add(600_000, false, false)
	m.close()
	if m.worst != (minute{1, 3, 3, 1}) {
		t.Errorf("%+v", m.worst)
	}
}

// However the times lie, no request is lost in the series, and each lies in the step
// of its time.
func TestSeriesKeepAllRequestsInTheirSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c clock
		var series []cell
		var times []int64
		now := rapid.Int64Range(946684800000, 1796130000000).Draw(t, "start")
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			now += rapid.SampledFrom([]int64{0, 500, 1000, 59_000, 700_000, 86_400_000, 400 * 86_400_000}).Draw(t, "later")
			times = append(times, now)
			at := c.cellAt(now, func(offset, into int64) { series = widened(series, offset, into) })
			series = count(series, at, now%3 == 0)
		}
		if len(series) > maxCells {
			t.Fatalf("%d steps", len(series))
		}
		want := make([]cell, len(series))
		for _, ms := range times {
			want = count(want, int((ms/1000-c.start)/steps[c.step]), ms%3 == 0)
		}
		if diff := cmp.Diff(want, series, cmp.AllowUnexported(cell{})); diff != "" {
			t.Fatal(diff)
		}
	})
}
