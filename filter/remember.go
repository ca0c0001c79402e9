//go:build wasip1

package main

import (
	"slices"
	"time"

	"routelimit/answer"
	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/policy"
)

// recall looks into what is remembered of the keys: it sets the decision if Redis
// would refuse, as it did before, and else says which key to ask about first.
func (r *request) recall() bool {
	p, w, at := r.plugin, r.work, now()
	if r.route.Lasting {
		g := &w.groups[0]
		g.decided = p.denied.Recall(w.plan.Groups[0].Key, w.plan.Groups[0].Charges, at, &g.decision)
		w.recalled = g.decided
		if w.recalled {
			p.metrics.recalled.Add(1)
		}
		return w.recalled
	}
	if len(w.groups) > 1 {
		w.first = r.mostSuspect(at)
	}
	return false
}

// mostSuspect is the key that is likeliest to refuse, -1 if none was refused
// lately. Somebody over his own limit has no others' keys charged that way. A key
// that refuses nobody here may have been refused on another route of its bucket;
// asked alone it could not tell whether the request passes.
func (r *request) mostSuspect(at time.Duration) int {
	most, first := 0, -1
	for i := range r.work.plan.Groups {
		g := &r.work.plan.Groups[i]
		score := r.plugin.denied.Score(g.Key, at)
		if score > most && slices.ContainsFunc(g.Charges, refuses) {
			most, first = score, i
		}
	}
	return first
}

// askOthers asks about the keys that were left out at first, unless the first one
// has settled the request. False: there is nothing to wait for.
func (r *request) askOthers() bool {
	p, w, l := r.plugin, r.work, r.plugin.link
	first := w.first
	if r.settledBy(&w.groups[first]) {
		l.Leave(&r.ticket)
		return false
	}
	w.first = -1
	if w.groups[first].decided {
		p.denied.Passed(w.plan.Groups[first].Key, now())
	}
	if failure := l.Again(&r.ticket); failure != link.None {
		l.Leave(&r.ticket)
		for i := range w.groups {
			if i != first {
				r.Fail(i, failure)
			}
		}
		return false
	}
	p.metrics.askedFirst.Add(1)
	for i := range w.groups {
		if i != first {
			r.add(i)
		}
	}
	l.Commit(&r.ticket)
	p.schedule()
	return true
}

// settledBy says whether what came back for one key leaves nothing to ask. Where it
// failed, its node may be dead, and those of the other keys decide all the same.
func (r *request) settledBy(g *groupState) bool {
	if g.decided {
		return !g.decision.Allowed
	}
	return g.failure == unusable || r.route.OnError == policy.Closed
}

// waitForOthers lets nobody come back before the keys that were not asked about
// now let him pass, as far as that is known: one key has refused, and spoke alone.
func (r *request) waitForOthers(q []answer.Quota) {
	w := r.work
	if w.first < 0 {
		return
	}
	at := now()
	for i := range w.groups {
		group := &w.plan.Groups[i]
		if w.groups[i].decided || !slices.ContainsFunc(group.Charges, refuses) {
			continue
		}
		wait := r.plugin.denied.Waits(group.Key, at)
		for j := range q {
			if q[j].Refused && q[j].Wait != limit.Never && (wait == limit.Never || wait > q[j].Wait) {
				q[j].Wait = wait
			}
		}
	}
}

// leasedRefusal is for how long a refusal is repeated where another worker may hold a
// lease of the same caller, and give back what is left of it.
const leasedRefusal = time.Second

// remember keeps what Redis refused, for the next request.
func (r *request) remember() {
	p, w := r.plugin, r.work
	if w.recalled {
		return
	}
	asked := p.link.Asked(&r.ticket)
	for i := range w.groups {
		g, group := &w.groups[i], &w.plan.Groups[i]
		switch {
		case !g.decided:
		case g.decision.Allowed:
			if p.denied.InUse() && len(w.groups) > 1 {
				p.denied.Passed(group.Key, asked)
			}
		case r.route.Lasting && r.route.Lease != 0:
			p.denied.KeepFor(leasedRefusal, group.Key, group.Charges, &g.decision, asked)
		case r.route.Lasting:
			p.denied.Keep(group.Key, group.Charges, &g.decision, asked)
		case !r.route.OneKey:
			p.denied.Suspect(group.Key, g.decision.Wait(group.Charges), asked)
		}
	}
}
