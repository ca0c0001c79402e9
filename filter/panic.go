//go:build wasip1

package main

import (
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/filter/link"
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
		return settleUnknown(callback, id)
	}
	r.plugin.metrics.panics.Add(1)
	if !strings.HasPrefix(callback, "proxy_on_request") {
		return shim.Continue
	}
	return r.act(r.withoutDecision(), shim.Continue)
}

// settleUnknown settles a request that could not even be made known, as one whose
// route is not known. Any plugin will do, but one of whose routes is closed
// outranks the others.
func settleUnknown(callback string, id uint32) types.Action {
	var of *plugin
	for _, p := range plugins {
		if of == nil || p.neverUnasked() {
			of = p
		}
	}
	if of == nil || callback != "proxy_on_request_headers" {
		return shim.Continue
	}
	of.metrics.panics.Add(1)
	r := request{plugin: of, id: id}
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

// withoutDecision settles a request that will not be decided, unless it is settled
// already: it passes only where its route fails open.
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
	case r.route == nil && r.routed:
		r.state = passed
		return pass
	case r.route == nil && r.plugin.neverUnasked(), r.route != nil && r.route.NeverUnasked:
		return r.answerUnavailable(why)
	}
	r.work = nil // it may be half done
	return r.passUnasked(why)
}
