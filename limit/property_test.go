package limit

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawLimit is any limit that Check takes.
func drawLimit(t *rapid.T) *Limit {
	l := &Limit{
		Algorithm: Algorithm(rapid.IntRange(0, 3).Draw(t, "algorithm")),
		Window:    time.Second * time.Duration(rapid.OneOf(rapid.Int64Range(1, 5), rapid.SampledFrom([]int64{60, 3600, 86400, 31536000})).Draw(t, "window")),
	}
	switch rapid.IntRange(0, 5).Draw(t, "refuses") {
	case 0:
		l.Shadow = true
	case 1:
		l.Unenforced = true
	}
	amount := func(name string, most int64) int64 {
		small := rapid.Int64Range(0, 12)
		if l.Algorithm == SlidingLog {
			return small.Draw(t, name)
		}
		return rapid.OneOf(small, rapid.Int64Range(0, most), rapid.Just(most)).Draw(t, name)
	}
	l.Limit = amount("limit", l.most())
	if l.Algorithm == TokenBucket {
		l.Burst = amount("burst", l.mostBurst())
	}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	return l
}

// drawCost is often near what is left.
func drawCost(t *rapid.T, l *Limit) int64 {
	most := l.Capacity()
	return rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(max(0, most/2-2), most+2), rapid.Just(most)).Draw(t, "cost")
}

// drawStep is how far the clock goes: nothing, a moment, to a boundary's neighbourhood, windows.
func drawStep(t *rapid.T, now int64, limits []*Limit) int64 {
	w := rapid.SampledFrom(limits).Draw(t, "whose window").Window.Milliseconds()
	boundary := w - now%w
	return rapid.OneOf(
		rapid.Just(int64(0)), rapid.Just(int64(1)), rapid.Int64Range(0, w), rapid.Just(boundary-1), rapid.Just(boundary),
		rapid.Just(boundary+w/2), rapid.Int64Range(0, 3*w),
	).Draw(t, "step")
}

// Waiting exactly as long as told, alone, lets the same request pass; one millisecond less does not. This holds for the
// model, which the scripts equal.
func TestG28_WaitingAsLongAsToldPassesForEveryAlgorithm(t *testing.T) {
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
			wait := d.Wait(charges)
			if d.Allowed != (wait == 0) {
				t.Fatalf("allowed %v and wait %v", d.Allowed, wait)
			}
			if wait <= 0 || wait == math.MaxInt64/time.Millisecond*time.Millisecond || slices.ContainsFunc(d.Verdicts, func(v Verdict) bool { return v.Restarted }) {
				// Never, longer than a duration can say, or after a clock fault: what a refusal would begin anew stays as it
				// is, and may refuse when the clock has come back.
				continue
			}
			if model.Decide("k", now+wait.Milliseconds()-1, charges).Allowed {
				t.Fatalf("at %d passes 1 ms before %v are over: %+v", now-base, wait, d)
			}
			now += wait.Milliseconds()
			if got := model.Decide("k", now, charges); !got.Allowed {
				t.Fatalf("at %d refused after waiting %v: %+v, then %+v", now-base, wait, d, got)
			}
		}
	})
}

// Callers whose configurations differ ask with some of the limits, each at costs of its own.
func TestScriptsAreWhatTheModelSaysForCallersThatDiffer(t *testing.T) {
	onEachRedis(t, func(outer *testing.T, r *redisDecider) {
		key := keyOf(outer)
		rapid.Check(outer, func(t *rapid.T) {
			r.do("DEL", key)
			limits := rapid.SliceOfN(rapid.Custom(drawLimit), 1, 4).Draw(t, "limits")
			model, now := Model{}, base
			var atMS int64
			var made []Charge
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				now += drawStep(t, now, limits)
				if rapid.IntRange(0, 5).Draw(t, "back") == 0 {
					now -= rapid.SampledFrom([]int64{1, 1000, 2 * drawStep(t, now, limits)}).Draw(t, "by")
				}
				if len(made) > 0 && rapid.IntRange(0, 3).Draw(t, "refund") == 0 {
					r.refund(key, atMS, now, made...)
					model.Refund(key, atMS, now, made)
				} else {
					// Some of the limits, as a caller with an older configuration has them.
					charges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Charge {
						l := rapid.SampledFrom(limits).Draw(t, "limit")
						return cost(l, drawCost(t, l))
					}), 1, 4).Draw(t, "charges")
					want, got := model.Decide(key, now, charges), r.decide(key, now, charges...)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("at %d (-model +script):\n%s\nstored %q", now-base, diff, r.stored(key))
					}
					if got.Allowed {
						atMS, made = got.AtMS, got.Charged(nil, charges)
					}
				}
				if diff := cmp.Diff(model.stored(key), r.stored(key)); diff != "" {
					t.Fatalf("fields at %d (-model +script):\n%s", now-base, diff)
				}
				if ttl := r.ttl(key); ttl == -1 {
					t.Fatalf("at %d the key has no expiry", now-base)
				}
			}
		})
		r.do("DEL", key)
	})
}

// stored is the model's state as the script writes it.
func (m *Model) stored(key string) map[string]string {
	fields := map[string]string{}
	if m.keys[key] == nil {
		return fields
	}
	for _, stored := range m.keys[key].fields {
		f, s := stored.field, stored.state
		var text string
		switch s := s.(type) {
		case windowState:
			text = fmt.Sprintf("%d %d %d", s.start/1000, s.count, s.previous)
		case bucketState:
			text = fmt.Sprintf("%d %d", s.at, s.deficit)
		case logState:
			text = string(packed(s))
		}
		fields[string(f.append(nil))] = text
	}
	return fields
}

// packed is a log as it is stored: 6 bytes a time, the highest first.
func packed(times []int64) (text []byte) {
	for _, at := range times {
		text = append(text, byte(at>>40), byte(at>>32), byte(at>>24), byte(at>>16), byte(at>>8), byte(at))
	}
	return text
}
