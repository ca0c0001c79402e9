package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// remaining looks without charging.
func remaining(d decider, key string, nowMS int64, l *Limit) int64 {
	return d.decide(key, nowMS, cost(l, 0)).Verdicts[0].Remaining
}

func TestG21_RefundAtOnceUndoesTheCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(5, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, at(time.Second), cost(l, 2))
			charged := d.decide(key, at(2*time.Second), cost(l, 3))
			d.refund(key, charged.AtMS, at(2*time.Second), cost(l, 3))
			if got := remaining(d, key, at(2*time.Second), l); got != 3 {
				t.Errorf("%v: %d left after the refund, want 3", l.Algorithm, got)
			}
		}
	})
}

func TestRefundOfSeveralLimitsUndoesEach(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		key := keyOf(t)
		var charges []Charge
		for i, l := range each(5, 10*time.Second) {
			l.Window += time.Duration(i) * time.Second
			charges = append(charges, cost(l, 2))
		}
		charged := d.decide(key, base, charges...)
		d.refund(key, charged.AtMS, base, charged.Charged(nil, charges)...)
		for _, c := range charges {
			if got := remaining(d, key, base, c.Limit); got != 5 {
				t.Errorf("%v: %d left, want 5", c.Limit.Algorithm, got)
			}
		}
	})
}

func TestRefundOfASharedFieldIsTakenBackOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for i, wide := range each(10, 10*time.Second) {
			tight := each(8, 10*time.Second)[i]
			key := fmt.Sprint(keyOf(t), wide.Algorithm)
			d.decide(key, base, cost(wide, 4))
			charges := []Charge{cost(wide, 1), cost(tight, 3)}
			charged := d.decide(key, base, charges...)
			d.refund(key, charged.AtMS, base, charges...)
			if got := remaining(d, key, base, wide); got != 6 {
				t.Errorf("%v: %d left, want 6", wide.Algorithm, got)
			}
		}
	})
}

// A charge at 5 s, taken back later, while others charged meanwhile.
func TestRefundLaterTouchesOnlyWhatTheChargeStillStandsIn(t *testing.T) {
	const w = 10 * time.Second
	for _, tt := range []struct {
		name  string
		limit Limit
		then  []step // charged after the one that is refunded
		at    time.Duration
		want  int64 // remaining after the refund
	}{
		{"fixed, same window", Limit{Algorithm: FixedWindow, Limit: 10, Window: w}, nil, 9999 * time.Millisecond, 10},
		{"fixed, the window turned: no charge of the new one is touched", Limit{Algorithm: FixedWindow, Limit: 10, Window: w},
			[]step{{at: 11 * time.Second, cost: 4}}, 12 * time.Second, 6},
		{"sliding, now the previous window", Limit{Limit: 10, Window: w},
			[]step{{at: 10 * time.Second, cost: 1}}, 11 * time.Second, 9},
		{"sliding, the window turned but nobody asked since", Limit{Limit: 10, Window: w}, nil, 15 * time.Second, 10},
		{"sliding, two windows later", Limit{Limit: 10, Window: w},
			[]step{{at: 20 * time.Second, cost: 4}}, 21 * time.Second, 6},
		{"log, still in it", Limit{Algorithm: SlidingLog, Limit: 10, Window: w},
			[]step{{at: 6 * time.Second, cost: 4}}, 7 * time.Second, 6},
		{"log, left it", Limit{Algorithm: SlidingLog, Limit: 10, Window: w},
			[]step{{at: 15 * time.Second, cost: 4}}, 15 * time.Second, 6},
		{"bucket, before it refilled", Limit{Algorithm: TokenBucket, Limit: 1, Window: w, Burst: 10},
			[]step{{at: 6 * time.Second, cost: 4}}, 10 * time.Second, 6},
		{"bucket, refilled: full meanwhile, so nothing is owed", Limit{Algorithm: TokenBucket, Limit: 10, Window: w},
			[]step{{at: 9 * time.Second, cost: 4}}, 9 * time.Second, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, d decider) {
				key := keyOf(t)
				charged := d.decide(key, at(5*time.Second), cost(&tt.limit, 3))
				for _, s := range tt.then {
					if !d.decide(key, at(s.at), cost(&tt.limit, s.cost)).Allowed {
						t.Fatalf("cost %d at %v was refused", s.cost, s.at)
					}
				}
				d.refund(key, charged.AtMS, at(tt.at), cost(&tt.limit, 3))
				if got := remaining(d, key, at(tt.at), &tt.limit); got != tt.want {
					t.Errorf("%d left, want %d", got, tt.want)
				}
			})
		})
	}
}

func TestRefundOfMoreThanIsThereStopsAtNothingUsed(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(5, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			charged := d.decide(key, base, cost(l, 2))
			for range 3 {
				d.refund(key, charged.AtMS, base, cost(l, 2))
			}
			if got := passed(d, key, base, 9, one(l)); got != 5 {
				t.Errorf("%v: %d of 9 passed after three refunds, want 5", l.Algorithm, got)
			}
		}
	})
}

func TestRefundOfAnUnknownTimeTakesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(5, 10*time.Second) {
			for _, charged := range []int64{0, -1, base - 3_600_000, base + 3_600_000} {
				key := fmt.Sprint(keyOf(t), l.Algorithm, charged)
				d.decide(key, base, cost(l, 2))
				d.refund(key, charged, base, cost(l, 2))
				if got := remaining(d, key, base, l); got != 3 {
					t.Errorf("%v: %d left after a refund of %d, want 3", l.Algorithm, got, charged)
				}
			}
		}
	})
}

// A second refund of one charge finds nothing of it, and leaves what others charged a moment later, or before.
func TestRefundTwiceLeavesTheChargesOfOthers(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		l := each(10, 10*time.Second)[2]
		key := keyOf(t)
		d.decide(key, at(4*time.Second), cost(l, 1))
		charged := d.decide(key, at(5*time.Second), cost(l, 3))
		d.decide(key, at(5*time.Second)+1, cost(l, 4))
		for range 2 {
			d.refund(key, charged.AtMS, at(6*time.Second), cost(l, 3))
		}
		if got := remaining(d, key, at(6*time.Second), l); got != 5 {
			t.Errorf("%d left, want 5", got)
		}
	})
}

func TestRefundTwiceOfThePreviousWindowStopsAtNothingUsed(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		l := each(10, 10*time.Second)[0]
		key := keyOf(t)
		charged := d.decide(key, at(5*time.Second), cost(l, 3))
		d.decide(key, at(10*time.Second), cost(l, 4))
		for range 2 {
			d.refund(key, charged.AtMS, at(11*time.Second), cost(l, 3))
		}
		if got := remaining(d, key, at(11*time.Second), l); got != 6 {
			t.Errorf("%d left, want 6", got)
		}
	})
}

// Time 0 names no charge, also for a virtual clock that begins there.
func TestRefundOfTimeZeroTakesNothingInTheFirstWindow(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(5, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, 1, cost(l, 2))
			d.refund(key, 0, 1, cost(l, 2))
			if got := remaining(d, key, 1, l); got != 3 {
				t.Errorf("%v: %d left, want 3", l.Algorithm, got)
			}
		}
	})
}

func TestRefundCreatesNoKeyAndKeepsTheExpiry(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(5, 100*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			r.refund(key, base, base, cost(l, 2))
			if ttl := r.ttl(key); ttl != -2 {
				t.Errorf("%v: a refund made a key that lives for %v", l.Algorithm, ttl)
			}
			r.decide(key, base, cost(l, 3))
			r.do("PEXPIRE", key, 50_000)
			r.refund(key, base, base, cost(l, 1))
			if ttl := r.ttl(key); ttl <= 40*time.Second || ttl > 50*time.Second {
				t.Errorf("%v: after a refund the key lives for %v, want the 50 s it had", l.Algorithm, ttl)
			}
		}
	})
}

func TestG16_RefundAfterTheKeyHasExpiredMakesNone(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(5, time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			charged := r.decide(key, 0, cost(l, 2))
			r.do("PEXPIRE", key, 1)
			for tries := 0; r.ttl(key) != -2; tries++ {
				if tries == 5000 {
					t.Fatal("the key has not expired after five seconds")
				}
				time.Sleep(time.Millisecond)
			}
			r.refund(key, charged.AtMS, 0, cost(l, 2))
			if ttl := r.ttl(key); ttl != -2 {
				t.Errorf("%v: a refund made a key that lives for %v", l.Algorithm, ttl)
			}
		}
	})
}

func TestRefundOfAForeignOrUnreadableStateChangesNothing(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		var charges []Charge
		for _, l := range each(5, 10*time.Second) {
			charges = append(charges, one(l))
		}
		r.do("SET", key, "99", "EX", 100)
		r.refund(key, base, base, charges...)
		if got, err := r.client.Get(t.Context(), key).Result(); got != "99" || err != nil {
			t.Errorf("the foreign key holds %q, %v", got, err)
		}
		r.do("DEL", key)
		before := map[string]string{"w10": "x", "l10": "12345", "b10": "-1 5"}
		r.do("HSET", key, "w10", "x", "l10", "12345", "b10", "-1 5")
		r.do("EXPIRE", key, 100)
		r.refund(key, base, base, charges...)
		if diff := cmp.Diff(before, r.stored(key)); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	})
}

func TestRefundTakesTheWholeLogAwayWithItsLastEntry(t *testing.T) {
	l := Limit{Algorithm: SlidingLog, Limit: 5, Window: 10 * time.Second}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		r.decide(key, base, cost(&l, 2))
		r.refund(key, base, base, cost(&l, 2))
		if ttl := r.ttl(key); ttl != -2 {
			t.Errorf("an empty log's key lives for %v", ttl)
		}
	})
}

func TestRefundOnRedisClockUndoesTheCharge(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(5, 365*24*time.Hour) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			charged := r.decide(key, 0, cost(l, 3))
			r.refund(key, charged.AtMS, 0, cost(l, 3))
			if got := remaining(r, key, 0, l); got < 4 {
				t.Errorf("%v: %d left, want 5, or 4 for a bucket that refilled a bit meanwhile", l.Algorithm, got)
			}
		}
	})
}
