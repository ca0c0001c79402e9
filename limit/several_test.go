package limit

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestG21_EachWindowOfOneIdentityCountsARequestOnce(t *testing.T) {
	minute := &Limit{Limit: 20, Window: time.Minute}
	ten := &Limit{Limit: 200, Window: 10 * time.Minute}
	hour := &Limit{Limit: 1200, Window: time.Hour}
	onEach(t, func(t *testing.T, d decider) {
		key := keyOf(t)
		if got := passed(d, key, base, 20, one(minute), one(ten), one(hour)); got != 20 {
			t.Errorf("%d of 20 passed", got)
		}
		var remaining []int64
		for _, v := range d.decide(key, base, cost(minute, 0), cost(ten, 0), cost(hour, 0)).Verdicts {
			remaining = append(remaining, v.Remaining)
		}
		if diff := cmp.Diff([]int64{0, 180, 1180}, remaining); diff != "" {
			t.Errorf("remaining (-want +got):\n%s", diff)
		}
	})
}

// Every pair of algorithms: what the second refuses does not count under the first, whichever comes first.
func TestG21_ARefusalByOneLimitChargesNone(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, tight := range each(1, 10*time.Second) {
			for _, wide := range each(10, 20*time.Second) {
				for _, charges := range [][]Charge{{one(tight), one(wide)}, {one(wide), one(tight)}} {
					key := fmt.Sprint(keyOf(t), tight.Algorithm, wide.Algorithm, charges[0].Limit == tight)
					if got := passed(d, key, base, 20, charges...); got != 1 {
						t.Errorf("%s: %d of 20 passed, want 1", key, got)
					}
					if got := passed(d, key, base, 20, one(wide)); got != 9 {
						t.Errorf("%s: then %d passed under the wide limit alone, want 9", key, got)
					}
				}
			}
		}
	})
}

func TestG21_TwoLimitsOfOneFieldShareOneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, wide := range each(10, 10*time.Second) {
			tight := each(4, 10*time.Second)[i]
			key := fmt.Sprint(keyOf(t), wide.Algorithm)
			// The larger cost holds for both.
			first := d.decide(key, base, one(wide), cost(tight, 2))
			if first.Verdicts[0].Remaining != 8 || first.Verdicts[1].Remaining != 2 {
				t.Errorf("%v: %+v, want 8 and 2 left", wide.Algorithm, first)
			}
			reversed := d.decide(key+"2", base, cost(tight, 2), one(wide))
			if reversed.Verdicts[0].Remaining != 2 || reversed.Verdicts[1].Remaining != 8 {
				t.Errorf("%v, reversed: %+v, want 2 and 8 left", wide.Algorithm, reversed)
			}
			if got := passed(d, key, base, 5, one(tight), one(wide)); got != 2 {
				t.Errorf("%v: %d of 5 passed under both, want 2", wide.Algorithm, got)
			}
			if got := passed(d, key, base, 10, one(wide)); got != 6 {
				t.Errorf("%v: %d of 10 passed under the wide one alone, want 6", wide.Algorithm, got)
			}
		}
	})
}

func TestTwoBucketsOfOneFieldRefillAtTheSlowerRate(t *testing.T) {
	slow := &Limit{Algorithm: TokenBucket, Limit: 6, Window: time.Minute, Burst: 10}
	fast := &Limit{Algorithm: TokenBucket, Limit: 60, Window: time.Minute, Burst: 20}
	onEach(t, func(t *testing.T, d decider) {
		for _, charges := range [][]Charge{{cost(slow, 10), cost(fast, 10)}, {cost(fast, 10), cost(slow, 10)}} {
			key := fmt.Sprint(keyOf(t), charges[0].Limit.Limit)
			var left []int64
			if !d.decide(key, base, charges...).Allowed {
				t.Fatal("10 of 10 were refused")
			}
			got := d.decide(key, at(9999*time.Millisecond), one(slow), one(fast))
			if got.Allowed || got.Verdicts[0].Wait != ms(1) || !got.Verdicts[1].Pass {
				t.Errorf("1 ms before the slow one has a token: %+v", got)
			}
			if !d.decide(key, at(10*time.Second), one(slow), one(fast)).Allowed {
				t.Error("refused when the slow one has a token")
			}

			// 5 tokens lacking, half of one refilled in 5 s, one more taken: 5.5 lack in both.
			key += "written between"
			d.decide(key, base, cost(slow, 5), cost(fast, 5))
			for _, v := range d.decide(key, at(5*time.Second), one(charges[0].Limit), one(charges[1].Limit)).Verdicts {
				left = append(left, v.Remaining)
			}
			want := map[*Limit][]int64{slow: {4, 14}, fast: {14, 4}}[charges[0].Limit]
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		}
	})
}

func TestShadowLimitRefusesNobodyAndKeepsItsOwnCount(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, enforced := range each(5, 10*time.Second) {
			shadow := each(2, 10*time.Second)[i]
			shadow.Shadow = true
			key := fmt.Sprint(keyOf(t), enforced.Algorithm)
			var allowed, shadowPasses []bool
			for range 6 {
				got := d.decide(key, base, one(shadow), one(enforced))
				allowed = append(allowed, got.Allowed)
				shadowPasses = append(shadowPasses, got.Verdicts[0].Pass)
			}
			if diff := cmp.Diff([]bool{true, true, true, true, true, false}, allowed); diff != "" {
				t.Errorf("%v: allowed (-want +got):\n%s", enforced.Algorithm, diff)
			}
			if diff := cmp.Diff([]bool{true, true, false, false, false, false}, shadowPasses); diff != "" {
				t.Errorf("%v: shadow (-want +got):\n%s", enforced.Algorithm, diff)
			}
			// Enforced, the same limit begins with nothing used of its own field.
			if got := d.decide(key+"2", base, one(shadow)); got.Verdicts[0].Remaining != 1 {
				t.Errorf("%v: a shadow alone: %+v", enforced.Algorithm, got)
			}
		}
	})
}

func TestShadowLimitIsNotChargedForWhatAnEnforcedOneRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, enforced := range each(1, 10*time.Second) {
			shadow := each(5, 10*time.Second)[i]
			shadow.Shadow = true
			key := fmt.Sprint(keyOf(t), enforced.Algorithm)
			passed(d, key, base, 4, one(enforced), one(shadow))
			if got := d.decide(key, base, cost(shadow, 0)).Verdicts[0].Remaining; got != 4 {
				t.Errorf("%v: the shadow has %d left, want 4: one passed", enforced.Algorithm, got)
			}
		}
	})
}

func TestShadowFieldIsNotTheEnforcedOne(t *testing.T) {
	l := Limit{Limit: 2, Window: time.Minute}
	shadow := l
	shadow.Shadow = true
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		r.decide(key, base, one(&l), one(&shadow))
		want := map[string]string{"w60": "1729728000 1 0", "~w60": "1729728000 1 0"}
		if diff := cmp.Diff(want, r.stored(key)); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	})
}

// Half a year of requests under windows of all kinds: there are as many fields as limits, whatever turned meanwhile, and
// every verdict is the definition's.
func TestG19_SeveralWindowsOverMonthsLeaveNoStaleFields(t *testing.T) {
	const day = 24 * time.Hour
	limits := []*Limit{
		{Limit: 100, Window: time.Second},
		{Limit: 3, Window: 10 * time.Minute},
		{Limit: 40, Window: day},
		{Algorithm: FixedWindow, Limit: 250, Window: 7 * day, Unenforced: true},
		{Algorithm: SlidingLog, Limit: 20, Window: 12 * time.Hour},
		{Algorithm: TokenBucket, Limit: 900, Window: 30 * day, Burst: 60},
		{Limit: 1, Window: time.Minute, Shadow: true},
	}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key, all, model := keyOf(t), define(limits), Model{}
		costs, charges := make([]int64, len(limits)), make([]Charge, len(limits))
		refused := 0
		for n, now := int64(0), base; now < at(180*day); n++ {
			for i, l := range limits {
				costs[i] = 1 + n*int64(i)%3
				charges[i] = cost(l, costs[i])
			}
			got := model.Decide(key, now, charges)
			if diff := cmp.Diff(got, r.decide(key, now, charges...)); diff != "" {
				t.Fatalf("at %d (-model +script):\n%s", now-base, diff)
			}
			if n%16 == 0 { // a definition reads all that ever was
				if diff := cmp.Diff(all.decide(now, costs, got).Verdicts, got.Verdicts); diff != "" {
					t.Fatalf("at %d (-definition +model):\n%s", now-base, diff)
				}
			} else {
				all.follow(now, costs, got)
			}
			if !got.Allowed {
				refused++
			}
			if fields := r.stored(key); len(fields) > len(limits) {
				t.Fatalf("at %d there are the fields %v", now-base, fields)
			}
			// From a second to a day and a half, in no order.
			now += []int64{1000, 61_000, 3_599_999, 1_234_567, 17 * 3_600_000, 36 * 3_600_000, 1, 599_999}[(5*n+n/7)%8]
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
	})
}

// Several connections ask at one moment under several limits, two of which share a field: the check and the charge of
// all is one step.
func TestG21_SeveralLimitsAtOnceAreOneStep(t *testing.T) {
	for i := range redises {
		t.Run(redises[i].name, func(t *testing.T) {
			for n, wide := range each(9, 10*time.Second) {
				tight, hour := each(6, 10*time.Second)[n], &Limit{Limit: 100, Window: time.Hour}
				key := fmt.Sprint(keyOf(t), wide.Algorithm)
				var group sync.WaitGroup
				admitted := make([]int, 4)
				var last *redisDecider
				for c := range admitted {
					r := connect(t, i)
					last = r
					group.Go(func() { admitted[c] = passed(r, key, base, 20, one(wide), cost(tight, 2), one(hour)) })
				}
				group.Wait()
				total := 0
				for _, n := range admitted {
					total += n
				}
				if total != 3 {
					t.Errorf("%v: %d of 80 passed, want 3 of cost 2", wide.Algorithm, total)
				}
				if left := remaining(last, key, base, hour); left != 97 {
					t.Errorf("%v: %d left of the hour, want 97", wide.Algorithm, left)
				}
			}
		})
	}
}

func TestUnenforcedLimitRefusesNobodyAndChargesWhatAnEnforcedOneWould(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, enforced := range each(3, 10*time.Second) {
			spared := each(3, 10*time.Second)[i]
			spared.Unenforced = true
			key := fmt.Sprint(keyOf(t), enforced.Algorithm)
			for n := range int64(5) {
				got := d.decide(key, base, one(spared))
				if v := got.Verdicts[0]; !got.Allowed || v.Pass != (n < 3) || v.Remaining != max(0, 2-n) {
					t.Errorf("%v: request %d: %+v", enforced.Algorithm, n+1, got)
				}
			}
			// Enforced, it finds the three that passed, and not the two that it would have refused.
			got := d.decide(key, base, one(enforced))
			if got.Allowed || got.Verdicts[0].Remaining != 0 {
				t.Errorf("%v: enforced: %+v", enforced.Algorithm, got)
			}
			if !d.decide(key, base+got.Verdicts[0].Wait.Milliseconds(), one(enforced)).Allowed {
				t.Errorf("%v: refused after the wait", enforced.Algorithm)
			}
		}
	})
}

// An enforced and a spared limit of one field share one charge, and only the enforced one refuses.
func TestUnenforcedLimitBesideAnEnforcedOneOfItsField(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, enforced := range each(6, 10*time.Second) {
			spared := each(2, 10*time.Second)[i]
			spared.Unenforced = true
			key := fmt.Sprint(keyOf(t), enforced.Algorithm)
			if got := passed(d, key, base, 9, one(spared), one(enforced)); got != 6 {
				t.Errorf("%v: %d of 9 passed, want 6", enforced.Algorithm, got)
			}
			charges := []Charge{cost(spared, 3), one(enforced)}
			got := d.decide(key+"2", base, charges...)
			made := got.Charged(nil, charges)
			if !got.Allowed || len(made) != 1 || made[0].Cost != 3 {
				t.Fatalf("%v: %+v charged %+v, want the enforced one's, at the larger cost", enforced.Algorithm, got, made)
			}
			d.refund(key+"2", got.AtMS, base, made...)
			if got := remaining(d, key+"2", base, enforced); got != 6 {
				t.Errorf("%v: %d left after the refund, want 6", enforced.Algorithm, got)
			}
		}
	})
}
