//go:build wasip1

package main

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/answer"
	"routelimit/filter/link"
	"routelimit/limit"
	"routelimit/policy"
	"routelimit/shim"
)

// The filter states that an access log can print, as
// %FILTER_STATE(wasm.routelimit.outcome:PLAIN)%.
const (
	stateOutcome = "routelimit.outcome"
	stateLimit   = "routelimit.limit"
)

// passAsked lets a request pass that every enforced limit admits.
func (r *request) passAsked() outcome {
	r.state = passed
	r.countVerdicts()
	return pass
}

// passUnasked lets a request pass that Redis did not decide, on a route that
// fails open. What other keys were charged stays charged.
func (r *request) passUnasked(failure string) outcome {
	r.state = passed
	r.plugin.metrics.route(r.routeKey()).open.Add(1)
	r.plugin.logs.decidedWithoutRedis("open", r.routeKey(), failure)
	shim.SetFilterState(stateOutcome, "open")
	return pass
}

// refuse answers 429 and gives back what other keys were charged.
func (r *request) refuse() outcome {
	r.countVerdicts()
	r.giveBack()
	q := r.quotas()
	r.waitForOthers(q)
	return r.answerRefusal(q, r.longestRefusal(), outcomeRefused)
}

// giveBack refunds what the keys charged that did answer.
func (r *request) giveBack() {
	for i := range r.work.groups {
		if g := &r.work.groups[i]; g.decided && g.decision.Allowed {
			r.refund(i)
		}
	}
}

// longestRefusal is the name of the limit that the caller has to wait for longest.
func (r *request) longestRefusal() (name string) {
	longest := time.Duration(-1)
	for i := range r.work.groups {
		state, group := &r.work.groups[i], &r.work.plan.Groups[i]
		if !state.decided {
			continue
		}
		for j, l := range group.Limits {
			v := &state.decision.Verdicts[j]
			if v.Pass || !group.Charges[j].Limit.Refuses() {
				continue
			}
			wait := v.Wait
			if wait == limit.Never {
				wait = math.MaxInt64
			}
			if wait > longest {
				longest, name = wait, l.Name
			}
		}
	}
	return name
}

// refuseBlocked answers 429 where an enforced limit is 0. The identity is nil
// where it is so for everybody.
func (r *request) refuseBlocked(blocked *policy.Limit, identity []byte) outcome {
	r.plugin.metrics.limit(blocked).refused.Add(1)
	r.plugin.logs.refusal(blocked, 0, identity, "")
	r.releaseWork()
	q := []answer.Quota{{Name: blocked.Name, Limit: 0, Window: blocked.Window, Refused: true, Wait: limit.Never}}
	return r.answerRefusal(q, blocked.Name, outcomeRefused)
}

// answerRefusal answers 429; how is the outcome as metrics name it.
func (r *request) answerRefusal(q []answer.Quota, name, how string) outcome {
	shim.SetFilterState(stateOutcome, how)
	shim.SetFilterState(stateLimit, printable(name))
	r.send(r.plugin.policy.Answer.Refusal(q, r.kind, r.unixTime()), "routelimit_"+how+"{"+printable(name)+"}")
	return answered
}

// refuseUnavailable answers 503 on a route that fails closed, and gives back
// what the keys that did answer were charged.
func (r *request) refuseUnavailable(failure string) outcome {
	r.giveBack()
	return r.answerUnavailable(failure)
}

func (r *request) answerUnavailable(failure string) outcome {
	r.plugin.metrics.route(r.routeKey()).unavailable.Add(1)
	r.plugin.logs.decidedWithoutRedis("closed", r.routeKey(), failure)
	shim.SetFilterState(stateOutcome, "unavailable")
	r.send(r.plugin.policy.Answer.Unavailable(r.kind), "routelimit_unavailable{"+failure+"}")
	return answered
}

// refuseUnreadable answers 503 where limits were declared that cannot be read,
// and nothing else limits the request: a mistake must not lift all limits.
func (r *request) refuseUnreadable() outcome {
	r.plugin.metrics.route("unreadable").unavailable.Add(1)
	shim.SetFilterState(stateOutcome, "unavailable")
	r.send(r.plugin.policy.Answer.Unavailable(r.kind), "routelimit_unavailable{route_metadata}")
	return answered
}

// routeKey names the request's route in metrics and logs, also where it is not
// known.
func (r *request) routeKey() string {
	if r.route == nil {
		return "unknown"
	}
	return r.route.Key
}

// refuseUndeclared answers 404 to what no declared route covers.
func (r *request) refuseUndeclared() outcome {
	r.plugin.metrics.route(undeclared).refused.Add(1)
	shim.SetFilterState(stateOutcome, "undeclared")
	r.send(r.plugin.policy.Answer.Undeclared(r.kind), "routelimit_undeclared")
	return answered
}

func (r *request) send(response answer.Response, details string) {
	r.state = refused
	shim.SendLocalResponse(response.Status, details, response.Headers, response.Body, response.GRPCStatus)
}

// quotas is what every enforced limit said that was decided.
func (r *request) quotas() []answer.Quota {
	q := r.plugin.quotas[:0]
	for i := range r.work.groups {
		state, group := &r.work.groups[i], &r.work.plan.Groups[i]
		if !state.decided {
			continue
		}
		for j, l := range group.Limits {
			own := group.Charges[j].Limit // the caller's
			if !own.Refuses() {
				continue
			}
			v := &state.decision.Verdicts[j]
			remaining := v.Remaining
			if state.refunded {
				remaining = min(remaining+limit.Price(group.Charges, j), own.Capacity())
			}
			q = append(q, answer.Quota{
				Name: l.Name, Limit: own.Limit, Window: l.Window,
				Remaining: remaining, Reset: v.Reset, Refused: !v.Pass, Wait: v.Wait,
			})
		}
	}
	r.plugin.quotas = q
	return q
}

// countVerdicts counts and logs what each limit said.
func (r *request) countVerdicts() {
	p := r.plugin
	for i := range r.work.groups {
		state, group := &r.work.groups[i], &r.work.plan.Groups[i]
		if !state.decided {
			continue
		}
		for j, l := range group.Limits {
			v, own := &state.decision.Verdicts[j], group.Charges[j].Limit
			m := p.metrics.limit(l)
			if v.Restarted {
				p.metrics.restarted.Add(1)
			}
			switch {
			case v.Pass && r.state == passed:
				m.passed.Add(1)
			case v.Pass:
				// Another limit refused; this one counts nothing, or gives it back.
			case own.Refuses():
				m.refused.Add(1)
				p.logs.refusal(l, own.Limit, group.Identity(), "")
			default:
				m.shadowRefused.Add(1)
				p.logs.refusal(l, own.Limit, group.Identity(), "shadow")
			}
		}
	}
}

// unixTime is Redis' time of the decision in seconds, or the proxy's where
// nothing was asked. It serves the headers that give a point in time.
func (r *request) unixTime() int64 {
	if r.work != nil {
		for i := range r.work.groups {
			if g := &r.work.groups[i]; g.decided && g.decision.AtMS > 0 {
				return g.decision.AtMS / 1000
			}
		}
	}
	return time.Now().Unix()
}

// OnHttpResponseHeaders puts the quota headers on a response, in the place of the
// upstream's, and gives back what only other statuses are charged for.
func (r *request) OnHttpResponseHeaders(int, bool) types.Action {
	current = r
	if r.state != passed || r.work == nil {
		return shim.Continue // also for our own answers
	}
	panicAt("response")
	r.readStatus()
	for i := range r.work.groups {
		r.refundUncounted(i)
	}
	p := r.plugin
	p.headers = p.policy.Answer.AppendQuotaHeaders(p.headers[:0], r.quotas(), r.unixTime())
	for _, h := range p.headers {
		shim.ReplaceResponseHeader(h[0], h[1])
	}
	return shim.Continue
}

// readStatus keeps the response's status, where some limit counts by it.
func (r *request) readStatus() {
	if !slices.ContainsFunc(r.route.Limits, countsByStatus) {
		return
	}
	text, _ := shim.ResponseHeader(":status")
	r.status, _ = strconv.Atoi(text)
}

func countsByStatus(l *policy.Limit) bool { return len(l.Count) > 0 }

// refundUncounted refunds, under one key, the limits that do not count the status
// of the response.
func (r *request) refundUncounted(i int) {
	if r.status == 0 || !r.work.groups[i].decided {
		return
	}
	r.refundWhere(i, func(l *policy.Limit) bool { return !l.Counts(r.status) })
}

// refund gives back all that the request was charged under one key.
func (r *request) refund(i int) {
	r.work.groups[i].refunded = true
	r.refundWhere(i, func(*policy.Limit) bool { return true })
}

// refundWhere gives back the charges of one key, which has allowed the request,
// whose limits want it. What another limit shares and keeps is not given back.
func (r *request) refundWhere(i int, wanted func(*policy.Limit) bool) {
	state, group := &r.work.groups[i], &r.work.plan.Groups[i]
	kept := func(l *policy.Limit) bool {
		return slices.ContainsFunc(group.Limits, func(other *policy.Limit) bool {
			return !wanted(other) && other.SharesState(&l.Limit)
		})
	}
	charges := r.work.refunding[:0]
	for j, l := range group.Limits {
		if state.decision.Verdicts[j].Pass && wanted(l) && !kept(l) {
			charges = append(charges, limit.Charge{Limit: group.Charges[j].Limit, Cost: limit.Price(group.Charges, j)})
		}
	}
	r.work.refunding = charges
	if len(charges) == 0 {
		return
	}
	p := r.plugin
	switch {
	case r.route.Lasting:
		p.denied.GivenBack(group.Key, now()) // after a 503; nothing else is given back there
	case r.fromEnvoy && p.denied.InUse():
		p.denied.Forget(group.Key, now()) // another of Envoy's routes may keep refusals of this key
	}
	w := &refund{plugin: p}
	failure := p.link.Tell(w, func(dst []byte) []byte {
		return limit.AppendRefund(dst, group.Key, state.decision.AtMS, redisTime, charges)
	})
	if failure != link.None {
		w.Fail(0, failure)
	}
	p.schedule()
}

// printable is a name as access logs may hold it.
func printable(name string) string {
	for _, c := range []byte(name) {
		if c < 0x20 || c > 0x7e {
			return strconv.QuoteToASCII(name)
		}
	}
	return name
}
