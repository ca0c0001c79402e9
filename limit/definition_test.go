package limit

import (
	"math/big"
	"sort"
	"time"
)

// The definitions of the algorithms, as a person would write them down: a list of what passed, gone through anew for
// each question. Slow, in exact fractions, and for a clock that never goes back.

// event is something that passed.
type event struct{ at, cost int64 }

// definition is one limit's history.
type definition struct {
	limit  Limit
	events []event
}

func (d *definition) window() int64 { return d.limit.Window.Milliseconds() }

// sum is the cost of what passed in [from, to).
func (d *definition) sum(from, to int64) (total int64) {
	for _, e := range d.events {
		if from <= e.at && e.at < to {
			total += e.cost
		}
	}
	return total
}

// used is how much of the limit is spent, as a fraction: of a bucket, the tokens that it lacks.
func (d *definition) used(now int64) *big.Rat {
	w := d.window()
	start := now / w * w
	switch d.limit.Algorithm {
	case FixedWindow:
		return big.NewRat(d.sum(start, now+1), 1)
	case SlidingLog:
		return big.NewRat(d.sum(now-w+1, now+1), 1)
	case SlidingWindow:
		weight := new(big.Rat).Mul(big.NewRat(d.sum(start-w, start), 1), big.NewRat(start+w-now, w))
		return weight.Add(weight, big.NewRat(d.sum(start, now+1), 1))
	}
	lacks, since := new(big.Rat), int64(0)
	refill := func(until int64) {
		lacks.Sub(lacks, new(big.Rat).Mul(big.NewRat(d.limit.Limit, w), big.NewRat(until-since, 1)))
		if lacks.Sign() < 0 {
			lacks.SetInt64(0)
		}
		since = until
	}
	for _, e := range d.events {
		refill(e.at)
		lacks.Add(lacks, big.NewRat(e.cost, 1))
	}
	refill(now)
	return lacks
}

// passes says that used + cost <= limit.
func (d *definition) passes(now, cost int64) bool {
	if d.limit.Limit == 0 && d.limit.Algorithm == TokenBucket {
		return false
	}
	sum := new(big.Rat).Add(d.used(now), big.NewRat(cost, 1))
	return sum.Cmp(big.NewRat(d.limit.Capacity(), 1)) <= 0
}

// remaining is the largest cost that passes now.
func (d *definition) remaining(now int64) int64 {
	if !d.passes(now, 0) {
		return 0
	}
	return int64(sort.Search(int(d.limit.Capacity()), func(n int) bool { return !d.passes(now, int64(n)+1) }))
}

// first is the least wait in ms, none longer than most, after which something holds that goes on holding.
func first(most int64, holds func(wait int64) bool) int64 {
	return int64(sort.Search(int(most), func(wait int) bool { return holds(int64(wait)) }))
}

// longest is more than any wait: two windows, or until the bucket is full.
func (d *definition) longest(now int64) int64 {
	if d.limit.Algorithm != TokenBucket {
		return 2 * d.window()
	}
	lacks := new(big.Rat).Mul(d.used(now), big.NewRat(d.window(), d.limit.Limit))
	return new(big.Int).Div(lacks.Num(), lacks.Denom()).Int64() + 1
}

func (d *definition) wait(now, cost int64) time.Duration {
	switch {
	case d.passes(now, cost):
		return 0
	case cost > d.limit.Capacity() || d.limit.Limit == 0 && d.limit.Algorithm == TokenBucket:
		return Never
	}
	return ms(first(d.longest(now), func(wait int64) bool { return d.passes(now+wait, cost) }))
}

func (d *definition) reset(now int64) time.Duration {
	w := d.window()
	switch {
	case d.limit.Algorithm == FixedWindow:
		return ms(w - now%w)
	case d.limit.Limit == 0 || d.used(now).Sign() == 0:
		return 0
	case d.limit.Algorithm == TokenBucket:
		return ms(first(d.longest(now), func(wait int64) bool { return d.used(now+wait).Sign() == 0 }))
	}
	left := d.remaining(now)
	return ms(first(d.longest(now), func(wait int64) bool { return d.remaining(now+wait) > left }))
}

// definitions is all limits of one identity, all or nothing. Each has a field of its own.
type definitions []*definition

func define(limits []*Limit) definitions {
	var all definitions
	for _, l := range limits {
		all = append(all, &definition{limit: *l})
	}
	return all
}

func (all definitions) decide(now int64, costs []int64) Decision {
	decision := Decision{Allowed: true, AtMS: now, Verdicts: make([]Verdict, len(all))}
	for i, d := range all {
		decision.Verdicts[i].Pass = d.passes(now, costs[i])
		decision.Verdicts[i].Wait = d.wait(now, costs[i])
		if !decision.Verdicts[i].Pass && !d.limit.Shadow {
			decision.Allowed = false
		}
	}
	for i, d := range all {
		if decision.Allowed && decision.Verdicts[i].Pass {
			d.events = append(d.events, event{now, costs[i]})
		}
		decision.Verdicts[i].Remaining = d.remaining(now)
		decision.Verdicts[i].Reset = d.reset(now)
	}
	return decision
}

// undo makes it so that a charge never was.
func (d *definition) undo(e event) {
	for i := range d.events {
		if d.events[i] == e {
			d.events = append(d.events[:i:i], d.events[i+1:]...)
			return
		}
	}
}
