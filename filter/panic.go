//go:build wasip1

package main

import (
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
func settlePanic(_ string, id uint32) types.Action {
	if p := plugins[id]; p != nil {
		p.metrics.panics.Add(1)
		if p.link != nil {
			p.link.Abandon(link.Panicked)
			shim.SetEffectiveContext(p.id)
			p.schedule()
		}
		return shim.Continue
	}
	if r := current; r != nil && r.id == id {
		return r.settle()
	}
	return shim.Continue
}

// settle says what the proxy does with a request whose callback panicked.
func (r *request) settle() types.Action {
	r.plugin.metrics.panics.Add(1)
	switch r.state {
	case asking:
		return shim.StopAllIterationAndWatermark // its answer is on the way
	case passed:
		return shim.Continue
	case refused:
		return shim.StopIteration
	case holding_:
		r.plugin.holding.leave(r)
	}
	return r.act(r.withoutDecision(), shim.Continue)
}

// withoutDecision applies on_error to a request that will not be decided.
func (r *request) withoutDecision() outcome {
	const why = "panic"
	r.plugin.metrics.failure(why)
	if r.route != nil && r.route.OnError == policy.Closed {
		return r.answerUnavailable(why)
	}
	r.state = passed
	return pass
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
	if r.state == refused {
		return
	}
	if r.state == passed || r.withoutDecision() == pass {
		shim.ContinueRequest()
	}
}
