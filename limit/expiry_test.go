package limit

import (
	"fmt"
	"testing"
	"time"
)

// season is a window so long that it does not end while a test runs on Redis' clock.
const season = 90 * 24 * time.Hour

// within fails the test unless low < got <= high.
func within(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got <= low || got > high {
		t.Errorf("%s lives for %v, want more than %v and at most %v", what, got, low, high)
	}
}

// A key lives as long as a field of it can change a verdict, and a second longer.
func TestG16_EveryKeyExpiresWhenItsStateCanChangeNothing(t *testing.T) {
	const w = 100 * time.Second
	for _, tt := range []struct {
		limit     Limit
		low, high time.Duration
	}{
		// To the end of the next window: the count still weighs there.
		{Limit{Algorithm: SlidingWindow, Limit: 10, Window: w}, w, 2*w + time.Second},
		{Limit{Algorithm: FixedWindow, Limit: 10, Window: w}, w, 2*w + time.Second},
		{Limit{Algorithm: SlidingLog, Limit: 10, Window: w}, w - time.Second, w + time.Second},
		{Limit{Algorithm: TokenBucket, Limit: 10, Window: w}, 9 * time.Second, 11 * time.Second},
		{Limit{Algorithm: TokenBucket, Limit: 10, Window: w, Shadow: true}, 9 * time.Second, 11 * time.Second},
	} {
		onEachRedis(t, func(t *testing.T, r *redisDecider) {
			key := fmt.Sprint(keyOf(t), tt.limit.Algorithm, tt.limit.Shadow)
			r.decide(key, 0, one(&tt.limit))
			within(t, tt.limit.Algorithm.String(), r.ttl(key), tt.low, tt.high)
		})
	}
}

// G19: the previous window's count must live to the end of the next one.
func TestG19_WindowKeyOutlivesTwoWindows(t *testing.T) {
	l := Limit{Limit: 10, Window: time.Minute}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		key := keyOf(t)
		got := r.decide(key, 0, one(&l))
		end := (got.AtMS/60_000 + 2) * 60_000
		now, err := r.client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if spare := ms(now.UnixMilli()-end) + r.ttl(key); spare < 0 || spare > time.Second {
			t.Errorf("the key goes %v after its second window ends, want 0 to 1 s", spare)
		}
	})
}

func TestG16_ExpiryIsOnlyEverLengthened(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, short := range each(10, time.Second) {
			for _, long := range each(10, 1000*time.Second) {
				key := fmt.Sprint(keyOf(t), short.Algorithm, long.Algorithm)
				r.decide(key, 0, cost(long, 10))
				before := r.ttl(key)
				r.decide(key, 0, one(short))
				if after := r.ttl(key); after < before-500*time.Millisecond {
					t.Errorf("%s: cut from %v to %v", key, before, after)
				}
				r.decide(key+"2", 0, one(short))
				r.decide(key+"2", 0, cost(long, 10))
				within(t, key+" lengthened", r.ttl(key+"2"), 990*time.Second, 2001*time.Second)
			}
		}
	})
}

func TestG16_ExpiryIsTheLongestThatAnyLimitOfTheCallNeeds(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, short := range each(10, time.Second) {
			for _, long := range each(10, 1000*time.Second) {
				for _, charges := range [][]Charge{{one(short), cost(long, 10)}, {cost(long, 10), one(short)}} {
					key := fmt.Sprint(keyOf(t), short.Algorithm, long.Algorithm, charges[0].Limit == short)
					r.decide(key, 0, charges...)
					within(t, key, r.ttl(key), 990*time.Second, 2001*time.Second)
				}
			}
		}
	})
}

// An expiry is not moved with each request, but at most each second.
func TestExpiryIsNotMovedByEveryRequest(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(100, 100*time.Second) {
			key := fmt.Sprint(keyOf(t), l.Algorithm)
			r.decide(key, 0, cost(l, 50))
			r.do("CONFIG", "RESETSTAT")
			passed(r, key, 0, 20, cost(l, 0))
			if l.Algorithm != TokenBucket { // whose state lasts longer with each token taken
				passed(r, key, 0, 20, one(l))
			}
			if got := calls(t, r, "pexpire"); got > 1 {
				t.Errorf("%v: %d expiries set by 40 requests, want 1 at most", l.Algorithm, got)
			}
		}
	})
}

func TestG16_MissingExpiryIsRepairedByAPassAndByARefusal(t *testing.T) {
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for _, l := range each(3, season) {
			for _, n := range []int64{1, 3, 4} {
				key := fmt.Sprint(keyOf(t), l.Algorithm, n)
				r.decide(key, 0, one(l))
				r.do("PERSIST", key)
				got := r.decide(key, 0, cost(l, n))
				if got.Allowed != (n == 1) {
					t.Errorf("%v: cost %d: %+v", l.Algorithm, n, got)
				}
				within(t, fmt.Sprintf("%v, after cost %d,", l.Algorithm, n), r.ttl(key), 0, 2*season+time.Second)
			}
		}
	})
}

// G16: what others left under our key, without an expiry, locks nobody out.
func TestG16_ForeignKeyWithoutExpiryIsBegunAnew(t *testing.T) {
	plant := map[string][]any{
		"string": {"99"}, "list": {"99"}, "set": {"99"}, "zset": {"1", "99"}, "stream": {"*", "a", "99"},
	}
	verbs := map[string]string{"string": "SET", "list": "RPUSH", "set": "SADD", "zset": "ZADD", "stream": "XADD"}
	onEachRedis(t, func(t *testing.T, r *redisDecider) {
		for kind, values := range plant {
			for _, l := range each(3, season) {
				key := fmt.Sprint(keyOf(t), kind, l.Algorithm)
				r.do(append([]any{verbs[kind], key}, values...)...)
				refused := r.decide(key, 0, cost(l, 4))
				if v := refused.Verdicts[0]; refused.Allowed || !v.Restarted || v.Wait != Never {
					t.Errorf("%s, %v, cost 4 of 3: %+v", kind, l.Algorithm, refused)
				}
				if got, err := r.client.Type(t.Context(), key).Result(); got != kind || err != nil {
					t.Errorf("%s, %v: a refusal made it a %s, %v", kind, l.Algorithm, got, err)
				}
				within(t, kind+" after a refusal", r.ttl(key), 0, 2*season+time.Second)
				first, second := r.decide(key, 0, one(l)), r.decide(key, 0, one(l))
				if v := first.Verdicts[0]; !first.Allowed || !v.Restarted || v.Remaining != 2 {
					t.Errorf("%s, %v, first: %+v, want a pass and a restart", kind, l.Algorithm, first)
				}
				if v := second.Verdicts[0]; !second.Allowed || v.Restarted || v.Remaining != 1 {
					t.Errorf("%s, %v, second: %+v, want a pass without a restart", kind, l.Algorithm, second)
				}
				within(t, kind, r.ttl(key), 0, 2*season+time.Second)
			}
		}
	})
}
