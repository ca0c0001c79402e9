//go:build wasip1

package main

import (
	"time"

	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/limit/lease"
	"routelimit/policy"
	"routelimit/resp"
)

// spend admits the request by what this worker has taken in advance of its caller's
// limits, without asking.
func (r *request) spend() bool {
	p, state, group, at := r.plugin, &r.work.groups[0], &r.work.plan.Groups[0], now()
	l := p.leases.Spend(group.Key, group.Charges, at, &state.decision)
	if l == nil {
		return false
	}
	state.decided, state.spent = true, true
	if q, ok := p.leases.Low(l, r.route.Lease, at); ok {
		p.askForLease(group, q, at)
	}
	return true
}

// leaseNext has Redis asked for a lease, where the request that it has just admitted
// is one of a busy caller.
func (r *request) leaseNext() {
	p, group := r.plugin, &r.work.plan.Groups[0]
	asked, waited := p.link.Asked(&r.ticket), p.link.Waited(&r.ticket)
	q, ok := p.leases.Decided(group.Key, group.Charges, r.route.Lease, &r.work.groups[0].decision, asked, asked+waited)
	if ok {
		p.askForLease(group, q, asked+waited)
	}
}

// askForLease asks beside all requests: none waits for the answer.
func (p *plugin) askForLease(group *policy.Group, q lease.Question, at time.Duration) {
	w := &leaseQuestion{plugin: p, question: q, charges: append([]limit.Charge(nil), group.Charges...)}
	if !p.link.Healthy() {
		p.leases.Failed(&w.question)
		return
	}
	p.giveBackUnspent(group.Key, at)
	failure := p.link.Tell(w, func(dst []byte) []byte {
		return limit.AppendLease(dst, group.Key, redisTime, q.Most, group.Charges)
	})
	if failure != link.None {
		w.Fail(0, failure)
	}
	p.schedule()
}

// giveBackUnspent puts what is left of past leases into the message that is about to
// be sent: first of the key that is asked about, so that the answer does not count
// it, and then of somebody who has become idle.
func (p *plugin) giveBackUnspent(key []byte, at time.Duration) {
	for p.leases.Past(key, at, &p.unspent) {
		p.giveBackLease(&p.unspent)
	}
	if p.leases.Idle(at, &p.unspent) {
		p.giveBackLease(&p.unspent)
	}
	p.metrics.leased(p.leases.Counts())
}

func (p *plugin) giveBackLease(u *lease.Unspent) {
	p.link.Enclose(&refund{plugin: p}, func(dst []byte) []byte {
		return limit.AppendRefund(dst, u.Key, u.AtMS, redisTime, u.Charges)
	})
}

// leaseQuestion waits for a lease.
type leaseQuestion struct {
	plugin   *plugin
	question lease.Question
	charges  []limit.Charge
}

func (w *leaseQuestion) Answer(_ int, reply resp.Value) error {
	p := w.plugin
	if reply.Kind == resp.Error {
		p.errorReply(reply)
		w.failed()
		return nil
	}
	var d limit.Decision
	taken, err := limit.ReadLease(reply, w.charges, w.question.Most, &d)
	if err != nil {
		p.failed(link.BadReply.String(), err.Error())
		w.failed()
		return err
	}
	for i := range d.Verdicts {
		if d.Verdicts[i].Restarted {
			p.metrics.restarted.Add(1)
		}
	}
	p.leases.Taken(&w.question, taken, &d)
	if taken == 0 {
		p.metrics.leasesRefused.Add(1)
		return nil
	}
	p.metrics.leasesTaken.Add(1)
	p.metrics.leaseTaken.Add(taken)
	return nil
}

func (w *leaseQuestion) Fail(_ int, why link.Failure) {
	w.plugin.failed(why.String(), "")
	w.failed()
}

func (w *leaseQuestion) failed() {
	w.plugin.leases.Failed(&w.question)
	w.plugin.metrics.leasesFailed.Add(1)
}

func (w *leaseQuestion) Resume() {}

func (w *leaseQuestion) Late(int, resp.Value) {}
