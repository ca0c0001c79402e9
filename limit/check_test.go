package limit

import (
	"strings"
	"testing"
	"time"
)

func TestCheckTakesWhatCanBeHeldExactlyAndSaysWhyNot(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for _, tt := range []struct {
		limit Limit
		want  string // the error begins so; "" for none
	}{
		{Limit{Limit: 10, Window: time.Minute}, ""},
		{Limit{Limit: 0, Window: time.Second}, ""},
		{Limit{Limit: 9007199254740, Window: time.Second}, ""},
		{Limit{Limit: 9007199254741, Window: time.Second}, "limit 9007199254741 is too large for sliding_window in this window; write at most 9007199254740"},
		{Limit{Limit: 285616, Window: year}, ""},
		{Limit{Limit: 285617, Window: year}, "limit 285617 is too large for sliding_window in this window; write at most 285616"},
		{Limit{Algorithm: FixedWindow, Limit: 1e13, Window: year}, ""},
		{Limit{Algorithm: FixedWindow, Limit: 1e13 + 1, Window: time.Second}, "limit 10000000000001 is too large for fixed_window"},
		{Limit{Algorithm: SlidingLog, Limit: 1000, Window: year}, ""},
		{Limit{Algorithm: SlidingLog, Limit: 1001, Window: time.Second}, "limit 1001 is too large for sliding_log in this window; write at most 1000"},
		{Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Minute}, ""},
		{Limit{Algorithm: TokenBucket, Limit: 10, Window: time.Minute, Burst: 1}, ""},
		{Limit{Algorithm: TokenBucket, Limit: 285617, Window: year}, "limit 285617 is too large for token_bucket"},
		{Limit{Algorithm: TokenBucket, Limit: 5000, Window: year, Burst: 285616}, ""},
		{Limit{Algorithm: TokenBucket, Limit: 5000, Window: year, Burst: 285617}, "burst 285617 is too large for a refill of 5000 in this window; write at most 285616"},
		{Limit{Algorithm: TokenBucket, Limit: 2, Window: year, Burst: 200}, ""},
		{Limit{Algorithm: TokenBucket, Limit: 2, Window: year, Burst: 201}, "burst 201 is too large for a refill of 2 in this window; write at most 200"},
		{Limit{Algorithm: TokenBucket, Limit: 1, Window: time.Minute, Burst: -1}, "burst -1 is negative; write 1 or more"},
		{Limit{Limit: 1, Window: time.Minute, Burst: 1}, "burst 1 has no meaning for sliding_window; remove it, or use token_bucket"},
		{Limit{Limit: -1, Window: time.Minute}, "limit -1 is negative; write 0"},
		{Limit{Limit: 1}, "window 0s is out of range; write whole seconds from 1s to 365 days"},
		{Limit{Limit: 1, Window: -time.Second}, "window -1s is out of range"},
		{Limit{Limit: 1, Window: 500 * time.Millisecond}, "window 500ms is out of range"},
		{Limit{Limit: 1, Window: 1500 * time.Millisecond}, "window 1.5s is out of range"},
		{Limit{Limit: 1, Window: year + time.Second}, "window 8760h0m1s is out of range"},
		{Limit{Algorithm: 9, Limit: 1, Window: day}, "algorithm 9 is unknown; write sliding_window"},
	} {
		err := tt.limit.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.limit, err, tt.want)
		}
	}
}

func TestAlgorithmNamesReadBack(t *testing.T) {
	names := AlgorithmNames()
	if len(names) != 4 {
		t.Errorf("names %q, want four", names)
	}
	for i, name := range names {
		if got, err := ParseAlgorithm(name); err != nil || got != Algorithm(i) || got.String() != name {
			t.Errorf("%q is read as %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "fixed", "Fixed_Window", "sliding_window "} {
		if _, err := ParseAlgorithm(name); err == nil || !strings.Contains(err.Error(), "write sliding_window, fixed_window, sliding_log or token_bucket") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if (Algorithm(9)).String() != "unknown" {
		t.Error("an unknown algorithm has a name")
	}
}

func TestModelForgetsWhatCanChangeNoVerdict(t *testing.T) {
	const w = 10 * time.Second
	for _, l := range each(10, w) {
		var m Model
		m.Decide("k", base, []Charge{cost(l, 5)})
		last := map[Algorithm]time.Duration{SlidingWindow: 2 * w, FixedWindow: 2 * w, SlidingLog: w, TokenBucket: w / 2}[l.Algorithm]
		if got := m.Forget(at(last) - 1); got != 1 {
			t.Errorf("%v: forgotten 1 ms too early", l.Algorithm)
		}
		if got := m.Forget(at(last)); got != 0 {
			t.Errorf("%v: %d keys left after %v", l.Algorithm, got, last)
		}
		if got := m.Decide("k", base, []Charge{cost(l, 11)}); got.Allowed || m.Forget(base) != 0 {
			t.Errorf("%v: a refusal left a key", l.Algorithm)
		}
	}
}
