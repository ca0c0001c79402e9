//go:build wasip1

package main

import (
	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/policy"
	"routelimit/resp"
)

// work is one question to Redis and its answers, in memory that is used again.
type work struct {
	plan      policy.Plan
	groups    []groupState // parallel to plan.Groups
	refunding []limit.Charge
	// first is the key that is asked about alone, before the others; none if less
	// than 0.
	first int
	// recalled: the decision is one that was remembered.
	recalled bool
}

// groupState is what came back for one key: nothing yet, a decision or a failure.
type groupState struct {
	decision limit.Decision
	decided  bool
	failure  string // its kind as in metrics
	refunded bool
	spent    bool // the request was admitted by a lease
}

// sized makes room for the answers to plan.
func (w *work) sized() {
	n := len(w.plan.Groups)
	if n > cap(w.groups) {
		w.groups = make([]groupState, n)
	}
	w.groups = w.groups[:n]
	for i := range w.groups {
		g := &w.groups[i]
		g.decided, g.failure, g.refunded, g.spent = false, "", false, false
	}
	w.first, w.recalled = -1, false
}

// keptWorks bounds the free works of a worker: more are in use at once only in
// a burst, whose memory is given back.
const keptWorks = 1024

func (p *plugin) takeWork() *work {
	if n := len(p.works); n > 0 {
		w := p.works[n-1]
		p.works = p.works[:n-1]
		return w
	}
	return &work{}
}

// releaseWork ends the use of a request's work. Where replies may still come
// late it is left to them.
func (r *request) releaseWork() {
	if r.work == nil {
		return
	}
	if !r.ticket.Expired() && len(r.plugin.works) < keptWorks {
		r.plugin.works = append(r.plugin.works, r.work)
		r.work = nil
	}
}

// refund waits for nothing but the news whether a refund was made.
type refund struct{ plugin *plugin }

func (w *refund) Answer(_ int, reply resp.Value) error {
	m := w.plugin.metrics
	if reply.Kind == resp.Error {
		m.refundsLost.Add(1)
		return nil
	}
	if err := limit.ReadRefund(reply); err != nil {
		m.refundsLost.Add(1)
		return err
	}
	m.refundsMade.Add(1)
	return nil
}

func (w *refund) Fail(int, link.Failure) { w.plugin.metrics.refundsLost.Add(1) }

func (w *refund) Resume() {}

func (w *refund) Late(int, resp.Value) {}
