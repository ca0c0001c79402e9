package limit

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// G38: what is remembered of a refusal is what Redis would say at that moment, number by number, and it ends before Redis
// would allow.
func TestG38_ARefusalLastsAsLongAsItSays(t *testing.T) {
	lasted := 0
	const longest = math.MaxInt64 / time.Millisecond * time.Millisecond // longer than this a duration cannot say
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		model, now := Model{}, base
		for _, step := range p.steps {
			now += step.by
			var charges []Charge
			for i, l := range p.limits {
				charges = append(charges, cost(l, step.costs[i]))
			}
			d := model.Decide("k", now, charges)
			lasts := d.Lasts(charges)
			if d.Allowed || lasts <= time.Millisecond || slices.ContainsFunc(d.Verdicts, func(v Verdict) bool { return v.Reset == longest || v.Wait == longest }) {
				continue
			}
			lasted++
			most := min(lasts.Milliseconds()-1, math.MaxInt32)
			by := rapid.OneOf(rapid.Int64Range(0, most), rapid.Just(most)).Draw(t, "later")
			var told Decision
			d.Later(time.Duration(by)*time.Millisecond, charges, &told)
			then := model.Decide("k", now+by, charges)
			for i, l := range p.limits {
				if !l.Refuses() {
					if told.Verdicts[i] != (Verdict{Pass: true}) {
						t.Fatalf("a limit that refuses nobody is told to say %+v", told.Verdicts[i])
					}
					told.Verdicts[i] = then.Verdicts[i]
				}
			}
			told.AtMS = then.AtMS
			if diff := cmp.Diff(then, told); diff != "" {
				t.Fatalf("at %d, %d ms later (-model +told):\n%s\nfirst %+v lasting %v", now-base, by, diff, d, lasts)
			}
		}
	})
	if lasted == 0 {
		t.Error("no refusal lasted")
	}
}

// The usual refusal lasts until its wait is over: nothing shorter would save anything.
func TestARefusalLastsUntilItsWaitIsOver(t *testing.T) {
	for _, l := range []Limit{
		{Algorithm: SlidingWindow, Limit: 3, Window: time.Minute},
		{Algorithm: FixedWindow, Limit: 3, Window: time.Minute},
		{Algorithm: SlidingLog, Limit: 3, Window: time.Minute},
		{Algorithm: TokenBucket, Limit: 3, Window: time.Minute},
	} {
		charges := []Charge{cost(&l, 1)}
		m := Model{}
		var d Decision
		for range 4 {
			d = m.Decide("k", base+1234, charges)
		}
		const rounding = 2 * time.Millisecond // of a bucket
		if lost := d.Wait(charges) - d.Lasts(charges); d.Allowed || lost < 0 || lost > rounding {
			t.Errorf("%v: %+v lasts %v", l.Algorithm, d, d.Lasts(charges))
		}
	}
}

func TestARefusalOnAStateBegunAnewDoesNotLast(t *testing.T) {
	l := &Limit{Limit: 1, Window: time.Minute}
	d := Decision{Verdicts: []Verdict{{Restarted: true, Wait: time.Second, Reset: time.Second}}}
	if got := d.Lasts([]Charge{cost(l, 1)}); got != 0 {
		t.Errorf("lasts %v", got)
	}
}
