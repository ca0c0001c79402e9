package limit

import (
	"fmt"
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

func TestWindowsNeverLeaveStaleFieldsOverADay(t *testing.T) {
	second := &Limit{Limit: 100, Window: time.Second}
	day := &Limit{Limit: 200_000, Window: 24 * time.Hour}
	r := connect(t, 0)
	key := keyOf(t)
	for s := time.Duration(0); s < 24*time.Hour; s += 397 * time.Second {
		if !r.decide(key, at(s), one(second), one(day)).Allowed {
			t.Fatalf("refused at %v", s)
		}
	}
	if got := r.stored(key); len(got) != 2 {
		t.Errorf("fields %v, want two", got)
	}
}
