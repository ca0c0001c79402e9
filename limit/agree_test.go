package limit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plan is what happens to one identity: its limits, and what is asked and given back.
type plan struct {
	limits []*Limit
	steps  []planStep
}

// planStep lets the clock go, and then asks at costs, one for each limit, takes a lease, or gives back a call that passed.
type planStep struct {
	by     int64 // ms, often 0, sometimes negative
	costs  []int64
	most   int64 // of a lease; 0: it is none
	refund int   // which of the open calls, from 1 on; 0 asks
}

// drawPlan draws a plan. Some limits share their state with another, some refuse nobody.
func drawPlan(t *rapid.T) (p plan) {
	for i := range rapid.IntRange(1, 4).Draw(t, "limits") {
		l := drawLimit(t)
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "share") == 0 {
			like := rapid.SampledFrom(p.limits).Draw(t, "with")
			l.Algorithm, l.Window, l.Shadow, l.Burst = like.Algorithm, like.Window, like.Shadow, 0
			l.Limit = min(l.Limit, l.most())
		}
		p.limits = append(p.limits, l)
	}
	now := base
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		step := planStep{by: drawStep(t, now, p.limits)}
		if rapid.IntRange(0, 5).Draw(t, "back") == 0 {
			step.by -= rapid.SampledFrom([]int64{1, 1000, 2 * drawStep(t, now, p.limits)}).Draw(t, "by")
		}
		now += step.by
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			step.most = rapid.OneOf(rapid.Int64Range(1, 20), rapid.Just(int64(maxExact))).Draw(t, "most")
		case 1, 2:
			step.refund = rapid.IntRange(1, 25).Draw(t, "refund")
		}
		for _, l := range p.limits {
			step.costs = append(step.costs, drawCost(t, l))
		}
		p.steps = append(p.steps, step)
	}
	return p
}

// openCall is a call that passed and may be given back.
type openCall struct {
	at     int64
	made   []Charge
	events map[int]event // by limit
}

// play lets the definitions, the model and the scripts of a Redis, if there is one, go through a plan. All must say the
// same at every step, and the model and the scripts must hold the same.
func (p plan) play(t *rapid.T, key string, r *redisDecider) {
	all, model, now := define(p.limits), Model{}, base
	var open []openCall
	for n, step := range p.steps {
		now += step.by
		if step.refund > 0 && len(open) > 0 {
			i := (step.refund - 1) % len(open)
			c := open[i]
			open = append(open[:i:i], open[i+1:]...)
			model.Refund(key, c.at, now, c.made)
			if r != nil {
				r.refund(key, c.at, now, c.made...)
			}
			undone := map[*history]bool{}
			for j, e := range c.events {
				if h := all[j].history; c.at != 0 && !undone[h] {
					undone[h] = true
					all[j].undo(e, now)
				}
			}
		} else {
			charges := make([]Charge, len(p.limits))
			for i, l := range p.limits {
				charges[i] = cost(l, step.costs[i])
			}
			got, taken := ask(&model, key, now, step.most, charges)
			costs := step.costs
			if taken > 0 {
				if want := all.room(now, step.most, costs); taken != want && !all.inexact() {
					t.Fatalf("step %d at %d, costs %v: the model takes %d requests, the definition %d", n, now-base, costs, taken, want)
				}
				costs = times(taken, costs)
			}
			want := all.decide(now, costs, got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d at %d, costs %v (-definition +model):\n%s", n, now-base, step.costs, diff)
			}
			if r != nil {
				stored, storedTaken := askRedis(r, key, now, step.most, charges)
				if diff := cmp.Diff(got, stored); diff != "" || storedTaken != taken {
					t.Fatalf("step %d at %d, costs %v (-model +script), taken %d and %d:\n%s\nstored %q", n, now-base, step.costs, taken, storedTaken, diff, r.stored(key))
				}
			}
			if got.Allowed {
				made := got.Charged(nil, charges)
				if taken > 0 {
					for i := range made {
						made[i].Cost *= taken
					}
				}
				c := openCall{got.AtMS, made, map[int]event{}}
				for i, v := range got.Verdicts {
					if v.Restarted {
						open = nil // what was charged before is gone
					}
					if v.Pass {
						c.events[i] = event{got.AtMS, all.price(i, costs)}
					}
				}
				open = append(open, c)
			}
		}
		if r != nil {
			if diff := cmp.Diff(model.stored(key), r.stored(key)); diff != "" {
				t.Fatalf("fields at %d (-model +script):\n%s", now-base, diff)
			}
			if ttl := r.ttl(key); ttl == -1 {
				t.Fatalf("at %d the key has no expiry", now-base)
			}
		}
	}
}

func TestModelIsWhatTheDefinitionsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drawPlan(t).play(t, "k", nil) })
}

func TestDefinitionsModelAndScriptsAgree(t *testing.T) {
	onEachRedis(t, func(outer *testing.T, r *redisDecider) {
		key := keyOf(outer)
		rapid.Check(outer, func(t *rapid.T) {
			r.do("DEL", key)
			drawPlan(t).play(t, key, r)
		})
		r.do("DEL", key)
	})
}

// ask asks the model, for a lease where most is above 0.
func ask(m *Model, key string, now, most int64, charges []Charge) (d Decision, taken int64) {
	if most > 0 {
		return m.Lease(key, now, most, charges)
	}
	return m.Decide(key, now, charges), 0
}

func askRedis(r *redisDecider, key string, now, most int64, charges []Charge) (d Decision, taken int64) {
	if most > 0 {
		return r.lease(key, now, most, charges...)
	}
	return r.decide(key, now, charges...), 0
}

func times(n int64, costs []int64) (all []int64) {
	for _, cost := range costs {
		all = append(all, manyTimes(n, cost))
	}
	return all
}
