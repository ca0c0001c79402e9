//go:build wasip1

package main

import (
	"slices"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/filter/link"
	"routelimit/policy"
	"routelimit/shim"
)

func init() { shim.OnPanic = settlePanic }

var (
	// plugins finds the plugin whose callback panicked, by its context.
	plugins = map[uint32]*plugin{}
	// current is the request whose callback runs, or ran last.
	current *request
)

// settlePanic leaves nobody waiting after a recovered panic: a request goes by
// its route's on_error, and with a plugin's callback all who wait for Redis do.
func settlePanic(callback string, id uint32) types.Action {
	if p := plugins[id]; p != nil {
		p.metrics.panics.Add(1)
		defer p.schedule() // whatever else fails, the tick answers those who wait
		p.link.Abandon(link.Panicked)
		shim.SetEffectiveContext(p.id)
		return shim.Continue
	}
	r := current
	if r == nil || r.id != id {
		return shim.Continue
	}
	r.plugin.metrics.panics.Add(1)
	if !strings.HasPrefix(callback, "proxy_on_request") {
		return shim.Continue
	}
	return r.act(r.withoutDecision(), shim.Continue)
}

// settlePanic is deferred where a held request is settled outside of its own
// callbacks.
func (r *request) settlePanic(during string) {
	v := recover()
	if v == nil {
		return
	}
	shim.ReportPanic(during, v)
	r.plugin.metrics.panics.Add(1)
	if r.withoutDecision() == pass {
		shim.ContinueRequest()
	}
}

// enforced says that the limit refuses some callers at least.
func enforced(l *policy.Limit) bool { return !l.Shadow && l.EnforcePercent > 0 }

// withoutDecision applies on_error to a request that will not be decided, unless
// it is settled already.
func (r *request) withoutDecision() outcome {
	switch r.state {
	case refused:
		return answered
	case passed:
		return pass
	case reading:
		r.plugin.holding.leave(r)
	}
	const why = "panic"
	r.plugin.link.Leave(&r.ticket)
	r.plugin.metrics.failure(why)
	switch {
	case r.route == nil:
		r.state = passed
		return pass
	case r.route.OnError == policy.Closed && slices.ContainsFunc(r.route.Limits, enforced):
		return r.answerUnavailable(why)
	}
	r.work = nil // it may be half done
	return r.passUnasked(why)
}
