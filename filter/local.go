//go:build wasip1

package main

import (
	"routelimit/answer"
	"routelimit/limit"
	"routelimit/limit/local"
	"routelimit/policy"
	"routelimit/shim"
)

// decideLocally lets this worker decide about the limits that Redis did not, each
// by its share. All of them are charged, or none is.
func (r *request) decideLocally(failure string) outcome {
	p, at := r.plugin, now()
	p.logs.decidedWithoutRedis("local", r.route.Key, failure)
	q := p.quotas[:0]
	r.undecided(func(group *policy.Group, i int) {
		own, l := &group.Charges[i], group.Limits[i]
		wait := limit.Never
		if own.Cost <= own.Limit.Capacity() {
			wait = p.local.Wait(p.localKey(group, l), p.share(own), at)
		}
		if wait != 0 {
			q = append(q, answer.Quota{Name: l.Name, Limit: own.Limit.Limit, Window: l.Window, Reset: wait, Refused: true, Wait: wait})
			p.logs.refusal(l, own.Limit.Limit, group.Identity(), "local")
		}
	})
	p.quotas = q
	if len(q) > 0 {
		r.giveBack()
		return r.refuseLocally(q)
	}
	r.undecided(func(group *policy.Group, i int) {
		p.local.Take(p.localKey(group, group.Limits[i]), p.share(&group.Charges[i]), at)
	})
	r.state = passed
	p.metrics.route(r.route.Key).localPassed.Add(1)
	shim.SetFilterState(stateOutcome, outcomeLocalPassed)
	return pass
}

// undecided calls f for each limit that Redis has not decided about, and that would
// refuse: number i of a group.
func (r *request) undecided(f func(group *policy.Group, i int)) {
	for g := range r.work.groups {
		if r.work.groups[g].decided {
			continue
		}
		group := &r.work.plan.Groups[g]
		for i := range group.Charges {
			if refuses(group.Charges[i]) {
				f(group, i)
			}
		}
	}
}

// share is what this worker lets one caller have of a limit.
func (p *plugin) share(c *limit.Charge) local.Rule {
	return local.NewRule(c.Limit, c.Cost, p.policy.Local.SharePercent)
}

// localKey is whose bucket it is: that of one caller under one limit of one route.
// It holds until the next call.
func (p *plugin) localKey(group *policy.Group, l *policy.Limit) []byte {
	key := append(p.bucket[:0], l.Labels.Route...)
	key = append(append(key, 0), l.Labels.Limit...)
	p.bucket = append(append(key, 0), group.Key...)
	return p.bucket
}

func (r *request) refuseLocally(q []answer.Quota) outcome {
	longest := 0
	for i := range q {
		if q[longest].Wait != limit.Never && (q[i].Wait == limit.Never || q[i].Wait > q[longest].Wait) {
			longest = i
		}
	}
	r.plugin.metrics.route(r.route.Key).localRefused.Add(1)
	return r.answerRefusal(q, q[longest].Name, outcomeLocalRefused)
}
