package local

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/limit"
)

const sec = time.Second

// take asks and charges.
func take(b *Buckets, key string, r Rule, now time.Duration) bool {
	if b.Wait([]byte(key), r, now) > 0 {
		return false
	}
	b.Take([]byte(key), r, now)
	return true
}

func TestAShareOfEveryLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limit   limit.Limit
		cost    int64
		percent int64
		atOnce  int // requests
		after   time.Duration
	}{
		"a tenth":                     {limit.Limit{Limit: 100, Window: 60 * sec}, 1, 10, 10, 6 * sec},
		"all":                         {limit.Limit{Limit: 100, Window: 60 * sec}, 1, 100, 100, 600 * time.Millisecond},
		"less than one":               {limit.Limit{Limit: 3, Window: 60 * sec}, 1, 10, 1, 60 * sec},
		"rounded down":                {limit.Limit{Limit: 29, Window: 29 * sec}, 1, 10, 2, 10 * sec},
		"a seventh of a window":       {limit.Limit{Limit: 7, Window: 60 * sec}, 1, 100, 7, 60*sec/7 + 1},
		"by the burst":                {limit.Limit{Algorithm: limit.TokenBucket, Limit: 60, Burst: 200, Window: 60 * sec}, 1, 10, 20, 10 * sec},
		"of a cost":                   {limit.Limit{Limit: 100, Window: 60 * sec}, 4, 10, 2, 24 * sec},
		"that is more than its share": {limit.Limit{Limit: 100, Window: 60 * sec}, 40, 10, 1, 60 * sec},
		"a cost of 0 counts 1":        {limit.Limit{Limit: 100, Window: 60 * sec}, 0, 10, 10, 6 * sec},
		"the largest limit":           {limit.Limit{Algorithm: limit.FixedWindow, Limit: limit.MaxLimit, Window: limit.MaxWindow}, 1_000_000_000_000, 10, 1, limit.MaxWindow},
	} {
		t.Run(name, func(t *testing.T) {
			b, r, now := New(10), NewRule(&c.limit, c.cost, c.percent), 100*sec
			passed := 0
			for range 2 * c.atOnce {
				if take(b, "k", r, now) {
					passed++
				}
			}
			if passed != c.atOnce {
				t.Errorf("%d passed at once, want %d", passed, c.atOnce)
			}
			// Waiting as long as told lets the next one pass, and no less does.
			wait := b.Wait([]byte("k"), r, now)
			if wait > c.after || wait <= 0 {
				t.Errorf("waits %v, want at most %v", wait, c.after)
			}
			if take(b, "k", r, now+wait-1) || !take(b, "k", r, now+wait) {
				t.Error("the wait is not the one after which it passes")
			}
		})
	}
}

// The bound that the package's comment and the docs give: in any time of an outage,
// whatever the requests, one worker lets no more of a caller pass; and it lets as
// much pass, but for what is rounded.
func TestG27_NoMorePassesThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &limit.Limit{Limit: rapid.Int64Range(1, 1000).Draw(t, "limit"), Window: sec * time.Duration(rapid.IntRange(1, 3600).Draw(t, "window"))}
		if rapid.Bool().Draw(t, "bucket") {
			l.Algorithm, l.Burst = limit.TokenBucket, rapid.Int64Range(1, 2000).Draw(t, "burst")
		}
		cost, percent := rapid.Int64Range(1, 20).Draw(t, "cost"), rapid.Int64Range(1, 100).Draw(t, "percent")
		r, b := NewRule(l, cost, percent), New(4)
		start, now, passed := 100*sec, 100*sec, int64(0)
		mean := max(1, int64(l.Window)/max(1, l.Limit*percent/100))
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			now += time.Duration(rapid.Int64Range(0, mean).Draw(t, "pause"))
			if take(b, "k", r, now) {
				passed += cost
			}
			holds := math.Max(float64(cost), math.Floor(float64(l.Capacity())*float64(percent)/100))
			rate := math.Max(float64(cost), float64(l.Limit)*float64(percent)/100)
			bound := holds + rate*float64(now-start)/float64(l.Window)
			if float64(passed) > bound+1e-6 {
				t.Fatalf("%d passed in %v, the bound is %v", passed, now-start, bound)
			}
		}
	})
}

func TestCallersDoNotShare(t *testing.T) {
	b, r := New(10), NewRule(&limit.Limit{Limit: 1, Window: 60 * sec}, 1, 100)
	if !take(b, "a", r, sec) || take(b, "a", r, sec) || !take(b, "b", r, sec) {
		t.Error("want one each")
	}
}

// However many callers come, nobody gets a second bucket before his first is full
// again, and the memory stays the same.
func TestAFloodOfCallersRefreshesNobodysBucket(t *testing.T) {
	b, r := New(100), NewRule(&limit.Limit{Limit: 1, Window: 60 * sec}, 1, 100)
	now := 100 * sec
	passed := map[string]int{}
	for range 20 {
		for i := range 150 {
			key := fmt.Sprint("caller ", i)
			if take(b, key, r, now) {
				passed[key]++
			}
		}
		now += 100 * time.Millisecond
	}
	for key, n := range passed {
		if n > 1 {
			t.Errorf("%s passed %d times in 2 s, want 1", key, n)
		}
	}
	if len(passed) != 100 {
		t.Errorf("%d callers passed, want as many as there are buckets", len(passed))
	}
	wait := b.Wait([]byte("one more"), r, now)
	if wait <= 0 || take(b, "one more", r, now+wait-1) || !take(b, "one more", r, now+wait) {
		t.Errorf("one more waits %v, want until a bucket is full again", wait)
	}
}

// A request under several limits asks for all before it takes of any. Each of its
// buckets must have the place of one that is full.
func TestSeveralNewBucketsAtOnceRefreshNobodysBucket(t *testing.T) {
	b, now := New(4), 100*sec
	minute, hour := NewRule(&limit.Limit{Limit: 1, Window: 60 * sec}, 1, 100), NewRule(&limit.Limit{Limit: 1, Window: time.Hour}, 1, 100)
	request := func(caller string) bool {
		short, long := "short "+caller, "long "+caller
		if b.Wait([]byte(short), minute, now) > 0 || b.Wait([]byte(long), hour, now) > 0 {
			return false
		}
		b.Take([]byte(short), minute, now)
		b.Take([]byte(long), hour, now)
		return true
	}
	if !request("a") || !request("b") || request("c") {
		t.Fatal("want room for two")
	}
	now += 61 * sec // the short ones are full again
	if !request("c") {
		t.Error("two buckets are full, and none is given away")
	}
	if request("a") || request("b") {
		t.Error("somebody has a second bucket within the hour")
	}
}

// Who asks all the time keeps his bucket, and nobody else has to wait for it.
func TestABusyCallerHoldsNoOtherUp(t *testing.T) {
	b, r, now := New(100), NewRule(&limit.Limit{Limit: 60, Window: 60 * sec}, 1, 10), 100*sec
	busy := func() { take(b, "busy", r, now) }
	busy()
	for i := range 99 {
		take(b, fmt.Sprint("caller ", i), r, now)
	}
	for range 120 {
		now += sec
		busy()
	}
	for i := range 99 {
		if !take(b, fmt.Sprint("another ", i), r, now) {
			t.Fatalf("%d newcomers passed, and 99 buckets are full", i)
		}
		busy()
	}
	if b.Wait([]byte("busy"), r, now) == 0 {
		t.Error("the busy one has a fresh bucket")
	}
}

func TestAChangedLimitDoesNotHoldOldDebts(t *testing.T) {
	b := New(10)
	day, second := NewRule(&limit.Limit{Limit: 10, Window: 24 * time.Hour}, 1, 100), NewRule(&limit.Limit{Limit: 10, Window: sec}, 1, 100)
	for take(b, "k", day, sec) {
	}
	if wait := b.Wait([]byte("k"), second, sec); wait > sec {
		t.Errorf("waits %v under a limit of 10 in a second", wait)
	}
}

func TestTakingAllocatesNothing(t *testing.T) {
	b, r := New(10), NewRule(&limit.Limit{Limit: 1000, Window: sec}, 1, 100)
	key, now := []byte("rl:{GET:/a|ip:203.0.113.7}"), sec
	b.Take(key, r, now)
	if got := testing.AllocsPerRun(1000, func() {
		now += time.Millisecond
		if b.Wait(key, r, now) == 0 {
			b.Take(key, r, now)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
