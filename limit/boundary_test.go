package limit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// step is one request of a scenario and the verdict it must get.
type step struct {
	at   time.Duration // since base
	cost int64
	want Verdict
}

func pass(remaining int64, reset time.Duration) Verdict {
	return Verdict{Pass: true, Remaining: remaining, Reset: reset}
}

func refuse(remaining int64, reset, wait time.Duration) Verdict {
	return Verdict{Remaining: remaining, Reset: reset, Wait: wait}
}

// Each scenario spends a limit, then asks one millisecond before the boundary, on it, and in the middle of the next
// window.
var boundaries = []struct {
	name  string
	limit Limit
	steps []step
}{
	{"fixed_window", Limit{Algorithm: FixedWindow, Limit: 10, Window: time.Minute}, []step{
		{20 * time.Second, 10, pass(0, 40*time.Second)},
		{20 * time.Second, 1, refuse(0, 40*time.Second, 40*time.Second)},
		{59999 * time.Millisecond, 1, refuse(0, ms(1), ms(1))},
		{60 * time.Second, 4, pass(6, time.Minute)},
		{90 * time.Second, 7, refuse(6, 30*time.Second, 30*time.Second)},
		{90 * time.Second, 6, pass(0, 30*time.Second)},
		{119999 * time.Millisecond, 1, refuse(0, ms(1), ms(1))},
		// Two windows later nothing is left of the first.
		{240 * time.Second, 10, pass(0, time.Minute)},
	}},
	{"sliding_window", Limit{Algorithm: SlidingWindow, Limit: 10, Window: time.Minute}, []step{
		// 10 in the first window weigh 10, 9, … in the second: one less each 6 s.
		{50 * time.Second, 10, pass(0, 16*time.Second)},
		{59999 * time.Millisecond, 1, refuse(0, 6001*time.Millisecond, 6001*time.Millisecond)},
		{60 * time.Second, 1, refuse(0, 6*time.Second, 6*time.Second)},
		{65999 * time.Millisecond, 1, refuse(0, ms(1), ms(1))},
		{66 * time.Second, 1, pass(0, 6*time.Second)},
		// In the middle 5 of the first window are left.
		{90 * time.Second, 5, refuse(4, 6*time.Second, 6*time.Second)},
		{90 * time.Second, 4, pass(0, 6*time.Second)},
		// Spent again at the end of the second window: 5 of its own and ceil(10 * 1 / 60000).
		{119999 * time.Millisecond, 5, refuse(4, ms(1), ms(1))},
		{119999 * time.Millisecond, 4, pass(0, ms(1))},
		// 9 of the second window count in the third.
		{120 * time.Second, 1, pass(0, 6667*time.Millisecond)},
		{150 * time.Second, 4, pass(0, 3334*time.Millisecond)},
	}},
	{"sliding_log", Limit{Algorithm: SlidingLog, Limit: 10, Window: time.Minute}, []step{
		{0, 4, pass(6, time.Minute)},
		{30 * time.Second, 6, pass(0, 30*time.Second)},
		// The window is (now - W, now]: an entry leaves when it is exactly as old as the window.
		{59999 * time.Millisecond, 1, refuse(0, ms(1), ms(1))},
		{59999 * time.Millisecond, 5, refuse(0, ms(1), 30001*time.Millisecond)},
		{60 * time.Second, 4, pass(0, 30*time.Second)},
		{89999 * time.Millisecond, 1, refuse(0, ms(1), ms(1))},
		{90 * time.Second, 5, pass(1, 30*time.Second)},
	}},
	{"token_bucket", Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Minute, Burst: 20}, []step{
		// 20 at once, then one each 6 s.
		{0, 20, pass(0, 120*time.Second)},
		{5999 * time.Millisecond, 1, refuse(0, 114001*time.Millisecond, ms(1))},
		{6 * time.Second, 1, pass(0, 120*time.Second)},
		{59999 * time.Millisecond, 9, refuse(8, 66001*time.Millisecond, ms(1))},
		{60 * time.Second, 9, pass(0, 120*time.Second)},
		{90 * time.Second, 6, refuse(5, 90*time.Second, 6*time.Second)},
		{90 * time.Second, 5, pass(0, 120*time.Second)},
		// It never holds more than 20.
		{time.Hour, 21, refuse(20, 0, Never)},
		{time.Hour, 20, pass(0, 120*time.Second)},
	}},
}

func TestBoundaryOneMillisecondBeforeAndMidpointOfTheNextWindow(t *testing.T) {
	for _, b := range boundaries {
		t.Run(b.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, d decider) { play(t, d, b.limit, b.steps) })
		})
	}
}

// play asks one limit step by step.
func play(t *testing.T, d decider, l Limit, steps []step) {
	t.Helper()
	key := keyOf(t)
	for i, s := range steps {
		got := d.decide(key, at(s.at), cost(&l, s.cost))
		want := Decision{Allowed: s.want.Pass, AtMS: at(s.at), Verdicts: []Verdict{s.want}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d, cost %d at %v (-want +got):\n%s", i, s.cost, s.at, diff)
		}
	}
}

func TestG19_SlidingWindowWeighsThePreviousWindow(t *testing.T) {
	l := Limit{Algorithm: SlidingWindow, Limit: 10, Window: time.Minute}
	onEach(t, func(t *testing.T, d decider) {
		for _, tt := range []struct {
			name  string
			after time.Duration
			looks int64 // remaining before sending
			most  int
		}{
			{"at 61 s", 61 * time.Second, 0, 1},
			{"at 66 s", 66 * time.Second, 1, 1},
			{"at 90 s", 90 * time.Second, 5, 5},
			{"at 119 s", 119 * time.Second, 9, 9},
			{"two windows later", 120 * time.Second, 10, 10},
		} {
			key := keyOf(t) + tt.name
			if got := passed(d, key, at(50*time.Second), 10, one(&l)); got != 10 {
				t.Fatalf("%s: %d of the first 10 passed", tt.name, got)
			}
			if got := d.decide(key, at(tt.after), cost(&l, 0)).Verdicts[0].Remaining; got != tt.looks {
				t.Errorf("%s: remaining %d before sending, want %d", tt.name, got, tt.looks)
			}
			if got := passed(d, key, at(tt.after), 10, one(&l)); got > tt.most || int64(got) < tt.looks {
				t.Errorf("%s: %d passed, want %d to %d", tt.name, got, tt.looks, tt.most)
			}
		}
	})
}

// passed asks so many times at one moment and counts what passes.
func passed(d decider, key string, nowMS int64, times int, charges ...Charge) (n int) {
	for range times {
		if d.decide(key, nowMS, charges...).Allowed {
			n++
		}
	}
	return n
}

func TestG28_WaitIsWhatIsLeftNotTheWholeWindow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Limit
		spend []step
		at    time.Duration
		wait  time.Duration
	}{
		{"bucket 10/1s burst 1, 10 ms later", Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Second, Burst: 1},
			[]step{{at: 0, cost: 1}}, 10 * time.Millisecond, 90 * time.Millisecond},
		{"fixed 5/60s, sixth at 20 s", Limit{Algorithm: FixedWindow, Limit: 5, Window: time.Minute},
			[]step{{at: 20 * time.Second, cost: 5}}, 20 * time.Second, 40 * time.Second},
		{"log 2/10s, hits at 0 and 7, third at 8", Limit{Algorithm: SlidingLog, Limit: 2, Window: 10 * time.Second},
			[]step{{at: 0, cost: 1}, {at: 7 * time.Second, cost: 1}}, 8 * time.Second, 2 * time.Second},
		{"sliding 2/10s, hits at 3 and 4, third at 5", Limit{Algorithm: SlidingWindow, Limit: 2, Window: 10 * time.Second},
			[]step{{at: 3 * time.Second, cost: 1}, {at: 4 * time.Second, cost: 1}}, 5 * time.Second, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, d decider) {
				key := keyOf(t)
				for _, s := range tt.spend {
					if !d.decide(key, at(s.at), cost(&tt.limit, s.cost)).Allowed {
						t.Fatalf("cost %d at %v was refused", s.cost, s.at)
					}
				}
				got := d.decide(key, at(tt.at), one(&tt.limit))
				if got.Allowed || got.Verdicts[0].Wait != tt.wait {
					t.Errorf("got %+v, want a refusal and a wait of %v", got, tt.wait)
				}
				if d.decide(key, at(tt.at+tt.wait)-1, one(&tt.limit)).Allowed {
					t.Errorf("passes 1 ms before the wait is over")
				}
				if !d.decide(key, at(tt.at+tt.wait), one(&tt.limit)).Allowed {
					t.Errorf("does not pass after the wait")
				}
			})
		})
	}
}
