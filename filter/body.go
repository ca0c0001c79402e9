//go:build wasip1

package main

import (
	"container/list"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/policy/identity"
	"routelimit/shim"
)

// heldBody is our copy of a body while the request is held. Envoy shows each
// piece once and keeps the whole for the upstream.
type heldBody struct {
	bytes    []byte
	deadline time.Duration
	place    *list.Element // in holding
}

const (
	// holdingTick is how exact, in ms, the deadline of a body is.
	holdingTick = 20
	// maxHeld bounds all copies together, in bytes. What comes beyond it is not
	// read: many slow uploads must not fill the VM's memory, since that kills it.
	maxHeld = 64 << 20
)

// holding is the requests whose bodies are awaited, by deadline.
type holding struct {
	requests list.List // of *request
	bytes    int
	behind   bool // some are overdue and wait for the next tick
}

func (h *holding) add(r *request) { r.body.place = h.requests.PushBack(r) }

// first is the request whose deadline comes first, nil if there is none.
func (h *holding) first() *request {
	if front := h.requests.Front(); front != nil {
		return front.Value.(*request)
	}
	return nil
}

// leave takes r out and returns what came of its body.
func (h *holding) leave(r *request) []byte {
	body := r.body
	r.body = nil
	h.requests.Remove(body.place)
	h.bytes -= len(body.bytes)
	return body.bytes
}

// tickPeriod is after how many ms the next deadline needs to be looked at; 0 is
// never.
func (h *holding) tickPeriod() uint32 {
	switch {
	case h.requests.Len() == 0:
		return 0
	case h.behind:
		return 1
	}
	return holdingTick
}

func (r *request) hold() {
	p := r.plugin
	r.state = reading
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
	case reading:
		return r.readBody(size, end)
	case asking, refused:
		return shim.StopIterationAndWatermark
	}
	return shim.Continue
}

func (r *request) readBody(size int, end bool) types.Action {
	panicAt("body")
	h := &r.plugin.holding
	room := min(r.plugin.policy.Body.MaxBytes-len(r.body.bytes), maxHeld-h.bytes)
	tooLarge := size > room
	if size > 0 && !tooLarge {
		r.body.bytes = append(r.body.bytes, shim.RequestBody(size)...)
		h.bytes += size
	}
	if !end && !tooLarge {
		return shim.StopIterationAndWatermark
	}
	return r.act(r.bodyRead(!tooLarge), shim.StopIterationAndWatermark)
}

// OnHttpRequestTrailers ends a body that no body callback has ended.
func (r *request) OnHttpRequestTrailers(int) types.Action {
	current = r
	switch r.state {
	case reading:
		return r.act(r.bodyRead(true), shim.StopIteration)
	case asking, refused:
		return shim.StopIteration
	}
	return shim.Continue
}

// bodyRead decides with what is known of the body. complete says that nothing
// of it is missing.
func (r *request) bodyRead(complete bool) outcome {
	body := r.plugin.holding.leave(r)
	r.state = fresh
	h := r.plugin.readHead()
	r.findParams(h)
	caller := r.plugin.newCaller(h)
	caller.Body = &identity.Body{Bytes: body, Complete: complete}
	return r.decide(caller)
}

// expireBodies decides without their bodies about requests that have waited too
// long for them, at most so many.
func (p *plugin) expireBodies(most int) {
	h := &p.holding
	h.behind = false
	if h.requests.Len() == 0 {
		return
	}
	at := now()
	for r := h.first(); r != nil && r.body.deadline <= at && !h.behind; r = h.first() {
		switch {
		case most == 0:
			h.behind = true
		case !shim.SetEffectiveContext(r.id):
			h.leave(r)
		default:
			most--
			r.expireBody()
		}
	}
	shim.SetEffectiveContext(p.id)
}

func (r *request) expireBody() {
	current = r
	defer r.settlePanic("the end of a body's time")
	if r.bodyRead(false) == pass {
		shim.ContinueRequest()
	}
}
