//go:build wasip1

package main

import (
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/filter/link"
	"routelimit/policy/identity"
	"routelimit/shim"
)

// heldBody is our copy of a body while the request is held. Envoy shows each
// piece once and keeps the whole for the upstream.
type heldBody struct {
	bytes    []byte
	deadline time.Duration
}

// holdingTick is how exact, in ms, the deadline of a body is.
const holdingTick = 20

// holding is the requests whose bodies are awaited, by deadline.
type holding struct {
	requests []*request // nil where one has left
	waiting  int
}

func (h *holding) len() int { return h.waiting }

func (h *holding) add(r *request) {
	h.requests = append(h.requests, r)
	h.waiting++
}

// leave takes r out. Its place is freed when those before it have left.
func (h *holding) leave(r *request) {
	h.waiting--
	for i, other := range h.requests {
		if other == r {
			h.requests[i] = nil
			break
		}
	}
	for len(h.requests) > 0 && h.requests[0] == nil {
		h.requests = h.requests[1:]
	}
}

func (r *request) hold() {
	p := r.plugin
	r.state = holding_
	r.body = &heldBody{deadline: now() + p.policy.Body.Timeout}
	p.holding.add(r)
	p.schedule()
}

// OnHttpRequestBody reads the pieces of a body until it ends or is too large.
//
// While a request is held the answer is StopIterationAndWatermark, whatever it
// waits for: of all the actions it is the one with which no version of Envoy
// loses bytes or hangs.
func (r *request) OnHttpRequestBody(size int, end bool) types.Action {
	current = r
	switch r.state {
	case holding_:
		return r.readBody(size, end)
	case asking, refused:
		return shim.StopIterationAndWatermark
	}
	return shim.Continue
}

func (r *request) readBody(size int, end bool) types.Action {
	room := r.plugin.policy.Body.MaxBytes - len(r.body.bytes)
	if size > 0 {
		r.body.bytes = append(r.body.bytes, shim.RequestBody(min(size, room))...)
	}
	tooLarge := size > room
	if !end && !tooLarge {
		return shim.StopIterationAndWatermark
	}
	return r.act(r.bodyRead(!tooLarge), shim.StopIterationAndWatermark)
}

// OnHttpRequestTrailers ends a body that no body callback has ended.
func (r *request) OnHttpRequestTrailers(int) types.Action {
	current = r
	switch r.state {
	case holding_:
		return r.act(r.bodyRead(true), shim.StopIteration)
	case asking, refused:
		return shim.StopIteration
	}
	return shim.Continue
}

// bodyRead decides with what is known of the body. complete says that nothing
// of it is missing.
func (r *request) bodyRead(complete bool) outcome {
	r.plugin.holding.leave(r)
	r.state = fresh
	h := readHead()
	r.findParams(&h)
	return r.decide(&h, &identity.Body{Bytes: r.body.bytes, Complete: complete})
}

// expireBodies decides without their bodies about requests that have waited too
// long for them.
func (p *plugin) expireBodies() {
	if p.holding.len() == 0 {
		return
	}
	at := now()
	for range link.MaxResumes {
		r := p.holding.first()
		if r == nil || r.body.deadline > at {
			break
		}
		if !shim.SetEffectiveContext(r.id) {
			p.holding.leave(r)
			continue
		}
		r.expireBody()
	}
	shim.SetEffectiveContext(p.id)
}

func (h *holding) first() *request {
	if len(h.requests) == 0 {
		return nil
	}
	return h.requests[0]
}

func (r *request) expireBody() {
	current = r
	defer r.settlePanic("the end of a body's time")
	if r.bodyRead(false) == pass {
		shim.ContinueRequest()
	}
}
