package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The clock goes back after a charge. By a window or less the state is kept and waits for the clock; by more it is begun
// anew and says so.
func TestClockBackByUpToAWindowKeepsTheCountAndByMoreBeginsAnew(t *testing.T) {
	const w = 10 * time.Second
	for _, tt := range []struct {
		back      time.Duration
		restarted map[Algorithm]bool
	}{
		{time.Millisecond, nil},
		{3 * time.Second, nil},
		{w, nil},
		// The charge was 5 s into its window: windows compare their starts.
		{w + time.Millisecond, map[Algorithm]bool{SlidingLog: true, TokenBucket: true}},
		{w + 5*time.Second, map[Algorithm]bool{SlidingLog: true, TokenBucket: true}},
		{w + 5001*time.Millisecond, map[Algorithm]bool{SlidingLog: true, TokenBucket: true, SlidingWindow: true, FixedWindow: true}},
		{400 * 24 * time.Hour, map[Algorithm]bool{SlidingLog: true, TokenBucket: true, SlidingWindow: true, FixedWindow: true}},
	} {
		t.Run(tt.back.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, d decider) {
				for _, l := range each(3, w) {
					key := fmt.Sprint(keyOf(t), l.Algorithm)
					charged := at(5 * time.Second)
					d.decide(key, charged, cost(l, 3))
					now := charged - tt.back.Milliseconds()
					got := d.decide(key, now, one(l)).Verdicts[0]
					if want := tt.restarted[l.Algorithm]; got.Restarted != want || got.Pass != want {
						t.Errorf("%v: restarted %v and passes %v, want both %v", l.Algorithm, got.Restarted, got.Pass, want)
					}
					if got.Pass {
						if again := d.decide(key, now, one(l)).Verdicts[0]; again.Restarted || again.Remaining != 1 {
							t.Errorf("%v: the next request: %+v, want 1 left and no restart", l.Algorithm, again)
						}
						continue
					}
					// The wait is counted from the clock as it is now.
					after := now + got.Wait.Milliseconds()
					if d.decide(key, after-1, one(l)).Allowed {
						t.Errorf("%v: passes 1 ms before the wait of %v is over", l.Algorithm, got.Wait)
					}
					if !d.decide(key, after, one(l)).Allowed {
						t.Errorf("%v: does not pass after the wait of %v", l.Algorithm, got.Wait)
					}
				}
			})
		})
	}
}

func TestClockBackThenARefusalLeavesTheStateAlone(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(3, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			r.decide(key, at(time.Hour), cost(l, 3))
			before := r.stored(key)
			got := r.decide(key, base, cost(l, 4))
			if v := got.Verdicts[0]; got.Allowed || !v.Restarted || v.Wait != Never {
				t.Errorf("%v: %+v, want a restart and a refusal for ever", l.Algorithm, got)
			}
			if diff := cmp.Diff(before, r.stored(key)); diff != "" {
				t.Errorf("%v (-before +after):\n%s", l.Algorithm, diff)
			}
		}
	})
}

// The charges of a call stand under one time. After the clock went back a short window's next one may have begun, while
// the longer ones have not: no one time names both, so nothing is refunded rather than a wrong charge.
func TestClockBackWhereLimitsDisagreeOnTheTimeIsNotRefunded(t *testing.T) {
	short, long := &Limit{Limit: 10, Window: 10 * time.Second}, &Limit{Limit: 10, Window: time.Hour}
	onEach(t, func(t *testing.T, d decider) {
		key := keyOf(t)
		d.decide(key, at(70*time.Second), one(short), one(long))
		got := d.decide(key, at(69*time.Second), one(short), one(long))
		if !got.Allowed || got.AtMS != 0 {
			t.Errorf("got %+v, want a pass at time 0", got)
		}
		d.refund(key, got.AtMS, at(69*time.Second), one(short), one(long))
		if s, l := remaining(d, key, at(70*time.Second), short), remaining(d, key, at(70*time.Second), long); s != 8 || l != 8 {
			t.Errorf("%d and %d left, want 8 and 8", s, l)
		}
	})
}

// One limit alone is refunded also then: its window's start names the window.
func TestClockBackWithOneLimitIsRefunded(t *testing.T) {
	onEach(t, func(t *testing.T, d decider) {
		for _, l := range each(10, 10*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			d.decide(key, at(70*time.Second), cost(l, 2))
			got := d.decide(key, at(69*time.Second), cost(l, 3))
			if !got.Allowed || got.AtMS != at(70*time.Second) {
				t.Errorf("%v: got %+v, want a pass at the later time", l.Algorithm, got)
			}
			d.refund(key, got.AtMS, at(69*time.Second), cost(l, 3))
			if got := remaining(d, key, at(70*time.Second), l); got != 8 {
				t.Errorf("%v: %d left, want 8", l.Algorithm, got)
			}
		}
	})
}
