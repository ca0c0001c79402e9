package limit

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestG15_ExactlyTheLimitPassesInSequence(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, limit := range []int64{1, 2, 5} {
			for _, l := range each(limit, 10*time.Second) {
				key := fmt.Sprint(keyOf(t), l.Algorithm, limit)
				var remaining []int64
				var want []int64
				for i := range limit + 2 {
					got := d.decide(key, base, one(l))
					if got.Allowed != (i < limit) {
						t.Errorf("%v %d: request %d: allowed %v", l.Algorithm, limit, i+1, got.Allowed)
					}
					remaining = append(remaining, got.Verdicts[0].Remaining)
					want = append(want, max(0, limit-1-i))
				}
				if diff := cmp.Diff(want, remaining); diff != "" {
					t.Errorf("%v %d: remaining (-want +got):\n%s", l.Algorithm, limit, diff)
				}
			}
		}
	})
}

// Several connections ask at one and the same moment.
func TestG15_G17_ExactlyTheLimitPassesAtOnce(t *testing.T) {
	for i := range redises {
		t.Run(redises[i].name, func(t *testing.T) {
			for _, limit := range []int64{1, 2, 5} {
				for _, l := range each(limit, 10*time.Second) {
					key := fmt.Sprint(keyOf(t), l.Algorithm, limit)
					var group sync.WaitGroup
					admitted := make([]int, 4)
					for c := range admitted {
						r := connect(t, i)
						group.Go(func() { admitted[c] = passed(r, key, base, 5, one(l)) })
					}
					group.Wait()
					total := 0
					for _, n := range admitted {
						total += n
					}
					if int64(total) != limit {
						t.Errorf("%v %d: %d of 20 passed", l.Algorithm, limit, total)
					}
				}
			}
		})
	}
}

func TestG17_LogKeepsEveryRequestOfOneMoment(t *testing.T) {
	l := Limit{Algorithm: SlidingLog, Limit: 5, Window: 10 * time.Second}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		if got := passed(r, key, base, 20, one(&l)); got != 5 {
			t.Errorf("%d of 20 passed, want 5", got)
		}
		if got := len(r.stored(key)["l10"]); got != 5*6 {
			t.Errorf("the log holds %d bytes, want 5 entries of 6", got)
		}
	})
}

func TestG18_RefusedRequestsAreNotCounted(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(3, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			if got := passed(d, key, base, 3, one(l)); got != 3 {
				t.Fatalf("%v: %d of the first 3 passed", l.Algorithm, got)
			}
			// One more each second, and one 100 ms after the window. The sliding window's three fade over the next
			// window, one each 3.3 s, the bucket's come back likewise in this one.
			first := map[Algorithm]time.Duration{
				FixedWindow: 10 * time.Second, SlidingLog: 10 * time.Second,
				SlidingWindow: 14 * time.Second, TokenBucket: 4 * time.Second,
			}[l.Algorithm]
			for s := time.Second; s < first; s += time.Second {
				if d.decide(key, at(s), one(l)).Allowed {
					t.Errorf("%v: passes at %v", l.Algorithm, s)
				}
			}
			if !d.decide(key, at(first+100*time.Millisecond), one(l)).Allowed {
				t.Errorf("%v: refused at %v", l.Algorithm, first+100*time.Millisecond)
			}
		}
	})
}

func TestG18_AHundredThousandRefusalsChangeNothing(t *testing.T) {
	const times, batch = 25_000, 2_500
	r := connect(t, 0)
	for _, l := range each(3, 10*time.Second) {
		key := fmt.Sprint(keyOf(t), l.Algorithm)
		passed(r, key, base, 3, one(l))
		before := r.stored(key)
		charges := []Charge{one(l)}
		var commands []byte
		for range batch {
			commands = AppendDecide(commands, []byte(key), base+1, charges)
		}
		var d Decision
		for range times / batch {
			go r.conn.Write(commands)
			for range batch {
				if err := ReadDecision(r.reply(), charges, &d); err != nil || d.Allowed {
					t.Fatalf("%v: %+v, %v, want a refusal", l.Algorithm, d, err)
				}
			}
		}
		if diff := cmp.Diff(before, r.stored(key)); diff != "" {
			t.Errorf("%v: refusals changed the state (-before +after):\n%s", l.Algorithm, diff)
		}
		if got := len(r.stored(key)["l10"]); got > 3*6 {
			t.Errorf("the log holds %d bytes, want 3 entries of 6 at most", got)
		}
	}
}

func TestG20_BucketAdmitsItsBurstAndThenItsRate(t *testing.T) {
	l := Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Minute, Burst: 10}
	onEach(t, func(t *testing.T, d decider) {
		key := keyOf(t)
		inFirstMinute := passed(d, key, base, 11, one(&l))
		if inFirstMinute != 10 {
			t.Errorf("%d passed at once, want the burst of 10", inFirstMinute)
		}
		for s := 6 * time.Second; s <= 54*time.Second; s += 6 * time.Second {
			inFirstMinute += passed(d, key, at(s), 2, one(&l))
		}
		if inFirstMinute != 19 {
			t.Errorf("%d passed in the first minute, want 19", inFirstMinute)
		}
	})
}

func TestG20_BucketOfOneAdmitsOneAtOnce(t *testing.T) {
	l := Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Minute, Burst: 1}
	onEach(t, func(t *testing.T, d decider) {
		if got := passed(d, keyOf(t), base, 2, one(&l)); got != 1 {
			t.Errorf("%d of 2 passed, want 1", got)
		}
	})
}

func TestG20_BurstLeftOutIsTheLimit(t *testing.T) {
	l := Limit{Algorithm: TokenBucket, Limit: 3, Window: time.Minute}
	onEach(t, func(t *testing.T, d decider) {
		if got := passed(d, keyOf(t), base, 5, one(&l)); got != 3 {
			t.Errorf("%d of 5 passed, want 3", got)
		}
	})
}

func TestG20_CostAboveTheLimitNeverPassesAndCostZeroLooks(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(5, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, base, cost(l, 2))
			for _, tt := range []struct {
				cost int64
				pass bool
				wait time.Duration
			}{
				{6, false, Never}, {1 << 53, false, Never}, {1<<63 - 1, false, Never}, {0, true, 0},
			} {
				got := d.decide(key, base, cost(l, tt.cost))
				v := got.Verdicts[0]
				if got.Allowed != tt.pass || v.Wait != tt.wait || v.Remaining != 3 {
					t.Errorf("%v: cost %d: %+v, want pass %v, wait %v, remaining 3", l.Algorithm, tt.cost, got, tt.pass, tt.wait)
				}
			}
			if got := d.decide(key, base, cost(l, -7)).Verdicts[0].Remaining; got != 2 {
				t.Errorf("%v: remaining %d after cost -7, want 2: it counts 1", l.Algorithm, got)
			}
		}
	})
}

func TestG20_CostZeroOnAFreshKeyWritesNothing(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(5, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			if got := r.decide(key, base, cost(l, 0)); !got.Allowed || got.Verdicts[0].Remaining != 5 {
				t.Errorf("%v: %+v, want pass and remaining 5", l.Algorithm, got)
			}
			if ttl := r.ttl(key); ttl != -2 {
				t.Errorf("%v: the key lives for %v", l.Algorithm, ttl)
			}
		}
	})
}

func TestLimitZeroRefusesEverything(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range append(each(0, 10*time.Second), &Limit{Algorithm: TokenBucket, Burst: 5, Window: time.Minute}) {
			key := fmt.Sprint(keyOf(t), l.Algorithm, l.Burst)
			got := d.decide(key, base, one(l))
			if v := got.Verdicts[0]; got.Allowed || v.Wait != Never || v.Remaining != 0 {
				t.Errorf("%v: %+v, want a refusal for ever", l.Algorithm, got)
			}
		}
	})
}

// Limits lowered to less than was used, 0 among it, and raised again.
func TestLimitLoweredRefusesWithRemainingZeroAndRaisedAdmitsTheDifference(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(10, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, base, cost(l, 10))
			for _, lowered := range []int64{5, 0} {
				less := Limit{Algorithm: l.Algorithm, Limit: lowered, Window: l.Window}
				for _, n := range []int64{0, 1} {
					got := d.decide(key, base, cost(&less, n))
					if v := got.Verdicts[0]; got.Allowed && n > 0 || v.Remaining != 0 || v.Reset < 0 {
						t.Errorf("%v lowered to %d, cost %d: %+v", l.Algorithm, lowered, n, got)
					}
				}
			}
			more := Limit{Algorithm: l.Algorithm, Limit: 20, Window: l.Window}
			if got := passed(d, key, base, 15, one(&more)); got != 10 {
				t.Errorf("%v raised to 20: %d passed, want 10", l.Algorithm, got)
			}
		}
	})
}

func TestFixedAndSlidingWindowOfOneLengthShareTheirCount(t *testing.T) {
	fixed := Limit{Algorithm: FixedWindow, Limit: 10, Window: time.Minute}
	sliding := Limit{Algorithm: SlidingWindow, Limit: 10, Window: time.Minute}
	onEach(t, func(t *testing.T, d decider) {
		key := keyOf(t)
		d.decide(key, base, cost(&fixed, 6))
		if got := d.decide(key, base, cost(&sliding, 0)).Verdicts[0].Remaining; got != 4 {
			t.Errorf("sliding has %d left after 6 of fixed, want 4", got)
		}
		if got := d.decide(key, at(90*time.Second), cost(&sliding, 0)).Verdicts[0].Remaining; got != 7 {
			t.Errorf("sliding has %d left in the middle of the next window, want 7", got)
		}
	})
}
