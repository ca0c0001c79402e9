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
	if r.route.Lease != 0 && r.spend() {
		return r.passAsked()
	}
	if p.denied.InUse() && r.recall() {
		return r.refuse()
	}
	return r.ask()
}

// noted counts what was odd about the request.
func (r *request) noted(what identity.Noted) {
	r.plugin.metrics.noted(what)
	if what.Has(identity.CostUnread) {
		r.plugin.logs.costUnread(r.route.Key)
	}
}

// ask sends one command for each key, all in one message, or that of the first key
// alone.
func (r *request) ask() outcome {
	l := r.plugin.link
	if failure := l.Begin(&r.ticket, r); failure != link.None {
		for i := range r.work.groups {
			r.Fail(i, failure)
		}
		return r.conclude()
	}
	if r.route.Lease != 0 {
		r.plugin.giveBackUnspent(r.work.plan.Groups[0].Key, l.Asked(&r.ticket))
	}
	if first := r.work.first; first >= 0 {
		r.add(first)
		l.Hold(&r.ticket)
	} else {
		for i := range r.work.plan.Groups {
			r.add(i)
		}
	}
	panicAt("ask")
	r.state = asking
	l.Commit(&r.ticket)
	r.plugin.schedule()
	return pending
}

// add asks about one key.
func (r *request) add(i int) {
	g := &r.work.plan.Groups[i]
	r.plugin.link.Add(&r.ticket, i, func(dst []byte) []byte { return limit.AppendDecide(dst, g.Key, redisTime, g.Charges) })
}

// redisTime lets the script read Redis' own clock.
const redisTime = 0

// Answer takes the reply about one key.
func (r *request) Answer(i int, reply resp.Value) error {
	panicAt("answer")
	g := &r.work.groups[i]
	if reply.Kind == resp.Error {
		g.failure = r.plugin.errorReply(reply)
		return nil
	}
	err := limit.ReadDecision(reply, r.work.plan.Groups[i].Charges, &g.decision)
	if err != nil {
		r.failed(i, link.BadReply, err.Error())
		return err
	}
	g.decided = true
	return nil
}

// Fail takes the news that there will be no reply about one key.
func (r *request) Fail(i int, why link.Failure) { r.failed(i, why, "") }

func (r *request) failed(i int, why link.Failure, detail string) {
	r.work.groups[i].failure = why.String()
	r.plugin.failed(why.String(), detail)
}

// errorReply takes an error that Redis has answered, and returns its kind.
func (p *plugin) errorReply(reply resp.Value) string {
	kind := resp.ClassifyError(reply.Text)
	if kind == resp.ReadOnly {
		p.link.Renew() // its other end may hold on to a primary of yesterday
	}
	p.failed(kind.String(), string(reply.Text))
	return kind.String()
}

// failed takes note of a question without a decision.
func (p *plugin) failed(kind, detail string) {
	p.metrics.failure(kind)
	p.logs.failure(kind, detail)
}

// Late takes a reply that came after the request was settled without it. What it
// charged is given back if the request was refused, and, where it passed, from
// the limits that do not count the status of its response.
func (r *request) Late(i int, reply resp.Value) {
	if r.work == nil {
		return // given up after a panic
	}
	var late limit.Decision // a lease may have decided meanwhile, and the response says what it said
	if reply.Kind == resp.Error || limit.ReadDecision(reply, r.work.plan.Groups[i].Charges, &late) != nil || !late.Allowed {
		return
	}
	g := &r.work.groups[i]
	g.decision, g.decided, g.failure = late, true, ""
	switch {
	case r.state == refused || g.spent:
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
	if r.work.first >= 0 && r.askOthers() {
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
	r.plugin.link.Leave(&r.ticket) // it asks no second question
	over, failure := r.results()
	if over {
		r.remember()
	}
	if over || failure != "" && r.route.OnError == policy.Closed {
		r.state = refused
		r.giveBack()
	}
	r.releaseWork()
}

// results is what all keys said: whether one refuses, and, of those whose
// failure matters, the kind of the last, or unusable; "" is none.
func (r *request) results() (over bool, failure string) {
	for i := range r.work.groups {
		g := &r.work.groups[i]
		switch {
		case g.decided:
			over = over || !g.decision.Allowed
		case g.failure == "": // not asked about
		case failure == unusable:
		case slices.ContainsFunc(r.work.plan.Groups[i].Charges, refuses):
			failure = g.failure
		}
	}
	return over, failure
}

func refuses(c limit.Charge) bool { return c.Limit.Refuses() }

// unusable is the failure of a server that cannot run the script. That is no
// outage, which ends, but a mistake, which would let everything pass for ever: so
// it closes every route.
var unusable = resp.Unsupported.String()

// conclude settles the request by what is known of all its keys: one refusal
// refuses, one failure leaves it to the route's on_error, else it passes.
func (r *request) conclude() outcome {
	panicAt("conclude")
	over, failure := r.results()
	switch {
	case r.route.Lease != 0 && (over || failure != "") && r.spend():
		return r.passAsked() // a lease came in the meantime
	case over:
		r.remember()
		return r.refuse()
	case failure == "":
		if r.route.Lease != 0 {
			r.leaseNext()
		}
		return r.passAsked()
	case failure == unusable || r.route.OnError == policy.Closed:
		return r.refuseUnavailable(failure)
	case r.route.OnError == policy.Local:
		return r.decideLocally(failure)
	}
	return r.passUnasked(failure)
}
