//go:build wasip1

package main

import (
	"slices"

	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/resp"
	"routelimit/shim"
)

// outcome is what becomes of a request.
type outcome uint8

const (
	pending  outcome = iota // Redis is asked
	pass                    // it goes on
	answered                // it was answered by us
)

// decide asks Redis about every limit of the request's route.
func (r *request) decide(caller *identity.Request) outcome {
	p := r.plugin
	r.work = p.takeWork()
	plan := &r.work.plan
	r.route.Plan(caller, plan)
	if caller.Noted != 0 {
		r.noted(caller.Noted)
	}
	if plan.Blocked != nil {
		return r.refuseBlocked(plan.Blocked, plan.Groups[plan.BlockedIn].Identity())
	}
	r.work.sized()
	return r.ask()
}

// noted counts what was odd about the request.
func (r *request) noted(what identity.Noted) {
	r.plugin.metrics.noted(what)
	if what.Has(identity.CostUnread) {
		r.plugin.logs.costUnread(r.route.Key)
	}
}

// ask sends one command for each key, all in one message.
func (r *request) ask() outcome {
	l := r.plugin.link
	if failure := l.Begin(&r.ticket, r); failure != link.None {
		for i := range r.work.groups {
			r.Fail(i, failure)
		}
		return r.conclude()
	}
	for i := range r.work.plan.Groups {
		g := &r.work.plan.Groups[i]
		l.Add(&r.ticket, func(dst []byte) []byte { return limit.AppendDecide(dst, g.Key, redisTime, g.Charges) })
	}
	panicAt("ask")
	r.state = asking
	l.Commit(&r.ticket)
	r.plugin.schedule()
	return pending
}

// redisTime lets the script read Redis' own clock.
const redisTime = 0

// Answer takes the reply about one key.
func (r *request) Answer(i int, reply resp.Value) error {
	panicAt("answer")
	g := &r.work.groups[i]
	if reply.Kind == resp.Error {
		kind := resp.ClassifyError(reply.Text)
		r.failed(i, kind.String(), string(reply.Text))
		return nil
	}
	err := limit.ReadDecision(reply, r.work.plan.Groups[i].Charges, &g.decision)
	if err != nil {
		r.failed(i, link.BadReply.String(), err.Error())
	}
	return err
}

// Fail takes the news that there will be no reply about one key.
func (r *request) Fail(i int, why link.Failure) { r.failed(i, why.String(), "") }

func (r *request) failed(i int, kind, detail string) {
	r.work.groups[i].failure = kind
	r.plugin.metrics.failure(kind)
	r.plugin.logs.failure(kind, detail)
}

// Late takes a reply that came after the request was settled without it. What it
// charged is given back if the request was refused, and, where it passed, from
// the limits that do not count the status of its response.
func (r *request) Late(i int, reply resp.Value) {
	if r.work == nil {
		return // given up after a panic
	}
	g := &r.work.groups[i]
	if reply.Kind == resp.Error || limit.ReadDecision(reply, r.work.plan.Groups[i].Charges, &g.decision) != nil || !g.decision.Allowed {
		return
	}
	g.failure = ""
	switch {
	case r.state == refused:
		r.refund(i)
	case r.status != 0:
		r.refundUncounted(i)
	}
}

// Resume settles a request that was held, after the last reply.
func (r *request) Resume() {
	current = r
	defer r.settlePanic("a decision")
	if !shim.SetEffectiveContext(r.id) {
		r.resumeGone()
		return
	}
	r.plugin.resumed++
	r.plugin.metrics.waited.Record(uint64(r.plugin.link.Waited(&r.ticket).Microseconds()))
	if r.conclude() == pass {
		shim.ContinueRequest()
	}
}

// resumeGone settles a request whose client has left. What it was charged stays
// charged, but where it would have been refused: nobody may spend others'
// limits with requests that he takes back before their refusal.
func (r *request) resumeGone() {
	if over, failure := r.results(); over || failure != "" && r.route.OnError == policy.Closed {
		r.state = refused
		r.giveBack()
	}
	r.releaseWork()
}

// results is what all keys said: whether one refuses, and, of those whose
// failure matters, the kind of the last; "" is none.
func (r *request) results() (over bool, failure string) {
	for i := range r.work.groups {
		g := &r.work.groups[i]
		switch {
		case g.failure == "":
			over = over || !g.decision.Allowed
		case slices.ContainsFunc(r.work.plan.Groups[i].Charges, refuses):
			failure = g.failure
		}
	}
	return over, failure
}

func refuses(c limit.Charge) bool { return c.Limit.Refuses() }

// conclude settles the request by what is known of all its keys: one refusal
// refuses, one failure leaves it to the route's on_error, else it passes.
func (r *request) conclude() outcome {
	panicAt("conclude")
	over, failure := r.results()
	switch {
	case over:
		return r.refuse()
	case failure != "" && r.route.OnError == policy.Closed:
		return r.refuseUnavailable(failure)
	case failure != "":
		return r.passUnasked(failure)
	}
	return r.passAsked()
}
