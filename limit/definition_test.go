package limit

import (
	"math/big"
	"slices"
	"sort"
)

// The definitions of the algorithms, as a person would write them down: a list of what passed, gone through anew for
// each question. Slow, and in exact fractions.

// event is something that passed.
type event struct{ at, cost int64 }

// history is what passed under one field. Limits of one field share it.
type history struct {
	events []event
	last   int64 // the time of the last event, be it taken back or not
	// inexact: a bucket was given something back after it had refilled. How much of that it may forget is not defined,
	// only that it is never too little.
	inexact bool
}

// definition is one limit and its history.
type definition struct {
	limit Limit
	*history
	refill int64 // of a bucket: the slowest of those that share it
}

func (d *definition) window() int64 { return d.limit.Window.Milliseconds() }

// clock is the time that the limit goes by. Where the clock went back behind what is stored, that waits for it, as long
// as it is no more than a window ahead; else the limit begins anew.
func (d *definition) clock(now int64) (at int64, anew bool) {
	w, stored, ahead := d.window(), d.last, d.last-now
	switch d.limit.Algorithm {
	case FixedWindow, SlidingWindow:
		stored = d.last / w * w
		ahead = stored - now/w*w
	case SlidingLog:
		stored = 0
		if len(d.events) > 0 {
			stored = d.events[len(d.events)-1].at
		}
		ahead = stored - now
	}
	if d.last > 0 && ahead > w {
		return now, true
	}
	return max(now, stored), false
}

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
		return big.NewRat(d.sum(start, start+w), 1)
	case SlidingLog:
		return big.NewRat(d.sum(now-w+1, now+1), 1)
	case SlidingWindow:
		weight := new(big.Rat).Mul(big.NewRat(d.sum(start-w, start), 1), big.NewRat(start+w-now, w))
		return weight.Add(weight, big.NewRat(d.sum(start, start+w), 1))
	}
	lacks, since := new(big.Rat), int64(0)
	refill := func(until int64) {
		lacks.Sub(lacks, new(big.Rat).Mul(big.NewRat(d.refill, w), big.NewRat(until-since, 1)))
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

// closed: a bucket that never refills lets nothing pass.
func (d *definition) closed() bool { return d.limit.Algorithm == TokenBucket && d.refill == 0 }

// passes says that used + cost <= limit.
func (d *definition) passes(now, cost int64) bool {
	sum := new(big.Rat).Add(d.used(now), big.NewRat(cost, 1))
	return !d.closed() && sum.Cmp(big.NewRat(d.limit.Capacity(), 1)) <= 0
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
	lacks := new(big.Rat).Mul(d.used(now), big.NewRat(d.window(), d.refill))
	return new(big.Int).Div(lacks.Num(), lacks.Denom()).Int64() + 1
}

// wait is in how many ms the cost passes: 0 now, -1 never.
func (d *definition) wait(now, cost int64) int64 {
	switch {
	case d.passes(now, cost):
		return 0
	case cost > d.limit.Capacity() || d.closed():
		return -1
	}
	return first(d.longest(now), func(wait int64) bool { return d.passes(now+wait, cost) })
}

// reset is in how many ms one more frees; of a bucket, until it is full.
func (d *definition) reset(now int64) int64 {
	w := d.window()
	switch {
	case d.limit.Algorithm == FixedWindow:
		return w - now%w
	case d.limit.Limit == 0 || d.closed() || d.used(now).Sign() == 0:
		return 0
	case d.limit.Algorithm == TokenBucket:
		return first(d.longest(now), func(wait int64) bool { return d.used(now+wait).Sign() == 0 })
	}
	left := d.remaining(now)
	return first(d.longest(now), func(wait int64) bool { return d.remaining(now+wait) > left })
}

// definitions is all limits of one identity, all or nothing.
type definitions []*definition

func define(limits []*Limit) definitions {
	var all definitions
	for i, l := range limits {
		d := &definition{limit: *l, history: new(history), refill: l.Limit}
		for _, earlier := range all {
			if earlier.limit.SharesState(l) {
				d.history = earlier.history
			}
		}
		for _, other := range limits {
			if other.SharesState(l) {
				d.refill = min(d.refill, other.Limit)
			}
		}
		all = append(all[:i], d)
	}
	return all
}

// price is what a request costs limit i: the largest cost among those that share its history.
func (all definitions) price(i int, costs []int64) (most int64) {
	for j, d := range all {
		if d.history == all[i].history {
			most = max(most, costs[j])
		}
	}
	return most
}

// decide is the decision about a request, given what was decided where that is not defined.
func (all definitions) decide(now int64, costs []int64, got Decision) Decision {
	want := Decision{Allowed: true, AtMS: -1, Verdicts: make([]Verdict, len(all))}
	views, times := make(definitions, len(all)), make([]int64, len(all))
	look := func(i int) {
		v := &want.Verdicts[i]
		v.Remaining = views[i].remaining(times[i])
		v.Reset = 0
		if reset := views[i].reset(times[i]); reset > 0 {
			v.Reset = duration(reset + times[i] - now)
		}
	}
	for i, d := range all {
		v, price := &want.Verdicts[i], all.price(i, costs)
		views[i] = d
		if times[i], v.Restarted = d.clock(now); v.Restarted {
			views[i] = &definition{limit: d.limit, history: new(history), refill: d.refill}
		}
		v.Pass = views[i].passes(times[i], price)
		wait := views[i].wait(times[i], price)
		if wait > 0 {
			wait += times[i] - now
		}
		v.Wait = duration(wait)
		look(i)
		if d.inexact && !v.Restarted && !(got.Verdicts[i].Pass && !v.Pass) {
			v.Pass = got.Verdicts[i].Pass
		}
		want.Allowed = want.Allowed && (v.Pass || !d.limit.Refuses())
		if want.AtMS == -1 {
			want.AtMS = times[i]
		} else if want.AtMS != times[i] {
			want.AtMS = 0
		}
	}
	all.follow(now, costs, want)
	for i, d := range all {
		if want.Allowed && want.Verdicts[i].Pass {
			if all.price(i, costs) > 0 {
				views[i] = d
			}
			look(i)
		}
		if v := &want.Verdicts[i]; d.inexact && got.Verdicts[i].Remaining <= v.Remaining {
			v.Remaining, v.Reset, v.Wait = got.Verdicts[i].Remaining, got.Verdicts[i].Reset, got.Verdicts[i].Wait
		}
	}
	return want
}

// follow writes down what was decided elsewhere.
func (all definitions) follow(now int64, costs []int64, got Decision) {
	charged := map[*history]bool{}
	for i, d := range all {
		v, price := got.Verdicts[i], all.price(i, costs)
		if !got.Allowed || !v.Pass || price == 0 || charged[d.history] {
			continue
		}
		charged[d.history] = true
		at, _ := d.clock(now)
		d.charge(at, price, v.Restarted)
	}
}

// charge writes down what passed, and forgets what has left a log.
func (d *definition) charge(at, cost int64, anew bool) {
	if anew {
		*d.history = history{}
	}
	if d.limit.Algorithm == SlidingLog {
		for len(d.events) > 0 && d.events[0].at <= at-d.window() {
			d.events = d.events[1:]
		}
	}
	d.events, d.last = append(d.events, event{at, cost}), at
}

// undo makes it so that a charge never was.
func (d *definition) undo(e event, now int64) {
	if d.limit.Algorithm == TokenBucket && max(now, d.last) != e.at {
		d.inexact = true
	}
	for i := range d.events {
		if d.events[i] == e {
			d.events = append(d.events[:i:i], d.events[i+1:]...)
			return
		}
	}
}

// room is how many requests, up to most, every limit has room for that lets one pass.
func (all definitions) room(now, most int64, costs []int64) int64 {
	for i, d := range all {
		view, price := d, all.price(i, costs)
		at, anew := d.clock(now)
		if anew {
			view = &definition{limit: d.limit, history: new(history), refill: d.refill}
		}
		if price > 0 && view.passes(at, price) {
			most = min(most, view.remaining(at)/price)
		}
	}
	return most
}

func (all definitions) inexact() bool {
	return slices.ContainsFunc(all, func(d *definition) bool { return d.history.inexact })
}
