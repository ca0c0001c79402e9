//go:build wasip1

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/answer"
	"routelimit/filter/link"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/shim"
)

// state is how far a request has come. It only goes forward.
type state uint8

const (
	fresh   state = iota
	reading       // its headers are held until its body is read
	asking        // it is held until Redis has answered
	passed
	refused // answered by us
)

// request is one HTTP request, from its headers to its log entry.
type request struct {
	types.DefaultHttpContext
	plugin *plugin
	id     uint32
	state  state
	kind   answer.RequestKind
	route  *policy.Route
	// routed: it was looked for, so that nil is none.
	routed bool
	// fromEnvoy: the route came from the metadata of Envoy's own route.
	fromEnvoy bool
	body      *heldBody
	ticket    link.Ticket
	work      *work // what was asked and answered; nil if nothing was
	status    int   // of the response, where a limit counts by it
}

// head is the headers of the request whose callback runs, and what was looked
// for in one pass over them. Its memory serves all requests in turn.
type head struct {
	lines                      [][2]string
	method, path, host         string
	contentType, contentLength string
	upgrade, expect            bool
}

// readHead reads the headers of the current request.
func (p *plugin) readHead() *head {
	h := &p.head
	*h = head{lines: shim.AppendRequestHeaders(h.lines[:0])}
	for i := range h.lines {
		value := h.lines[i][1]
		switch h.lines[i][0] {
		case ":method":
			h.method = value
		case ":path":
			h.path = value
		case ":authority":
			h.host = value
		case "content-type":
			h.contentType = value
		case "content-length":
			h.contentLength = value
		case "upgrade":
			h.upgrade = true
		case "expect":
			h.expect = true
		}
	}
	return h
}

// Header and Property make head the attributes that policy asks for.
func (h *head) Header(name string, line int) (value string, ok bool) {
	for i := range h.lines {
		if h.lines[i][0] == name {
			if line == 0 {
				return h.lines[i][1], true
			}
			line--
		}
	}
	return "", false
}

func (h *head) Property(path string) (value []byte, ok bool) { return shim.Property(path) }

var _ identity.Attributes = (*head)(nil)

// isGRPC follows Envoy: application/grpc and application/grpc+…, not grpc-web.
func (h *head) isGRPC() bool {
	rest, ok := strings.CutPrefix(h.contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// bodyComes says whether it is safe to wait for the body, and whether it can be
// read: a stream that the client leaves open never ends, and a client that
// expects to be told to continue sends nothing before.
func (h *head) bodyComes(maxBytes int) bool {
	if h.upgrade || h.expect || h.method == "CONNECT" || h.isGRPC() {
		return false
	}
	if h.contentLength == "" {
		return true
	}
	n, err := strconv.Atoi(h.contentLength)
	return err == nil && n <= maxBytes
}

// OnHttpRequestHeaders finds the route and asks, or holds the headers to read
// the body first.
func (r *request) OnHttpRequestHeaders(_ int, end bool) types.Action {
	current = r
	p := r.plugin
	if p.policy.Mode == policy.Off {
		return shim.Continue
	}
	h := p.readHead()
	if !p.policy.CountPreflights && policy.IsPreflight(h) {
		return shim.Continue
	}
	r.kind = answer.RequestKind{GRPC: h.isGRPC(), HEAD: h.method == "HEAD"}
	unreadable := r.findRoute(h)
	r.routed = true
	panicAt("headers")
	caller := p.newCaller(h)
	switch {
	case r.route == nil && p.policy.RefuseUndeclared:
		return r.act(r.refuseUndeclared(), shim.Continue)
	case unreadable && p.policy.Mode == policy.Enforce && !limits(r.route):
		return r.act(r.refuseUnreadable(), shim.Continue)
	case r.route == nil || len(r.route.Limits) == 0:
		p.metrics.unlimited(r.route).Add(1)
		return shim.Continue
	case r.route.IsExempt(caller):
		p.metrics.route(r.route.Key).exempt.Add(1)
		return shim.Continue
	case r.route.Blocked != nil:
		return r.act(r.refuseBlocked(r.route.Blocked, nil), shim.Continue)
	case r.route.NeedsBody && !end && h.bodyComes(p.policy.Body.MaxBytes):
		r.hold()
		return shim.StopIteration
	}
	caller.Body = r.missingBody(end)
	return r.act(r.decide(caller), shim.StopAllIterationAndWatermark)
}

// newCaller is the caller whose headers are h, once its route is found, in memory
// that serves all requests in turn.
func (p *plugin) newCaller(h *head) *identity.Request {
	p.caller = identity.Request{Attrs: h, Params: p.matched.Params}
	return &p.caller
}

// limits reports whether a route may refuse requests.
func limits(r *policy.Route) bool {
	return r != nil && slices.ContainsFunc(r.Limits, (*policy.Limit).Enforced)
}

// missingBody is what is known of the body of a request that is not held: that
// it has none, or that there is one which was not read.
func (r *request) missingBody(end bool) *identity.Body {
	if end || !r.route.NeedsBody {
		return nil
	}
	return &identity.Body{}
}

// findRoute sets the route of the request: what Envoy's own route declares, or
// else what the configuration says of the path. It reports a declaration that
// cannot be read.
func (r *request) findRoute(h *head) (unreadable bool) {
	panicAt("route")
	p := r.plugin
	found := p.routes.find(p)
	if found.route != nil {
		r.route, r.fromEnvoy = found.route, true
		r.route.Capture(h.path, &p.matched)
		return false
	}
	r.route = p.policy.Match(h.method, h.host, h.path, &p.matched)
	return found.bad
}

// findParams makes the path's parameters available once more.
func (r *request) findParams(h *head) {
	if r.fromEnvoy {
		r.route.Capture(h.path, &r.plugin.matched)
		return
	}
	r.plugin.policy.Match(h.method, h.host, h.path, &r.plugin.matched)
}

// act does inside a callback of the request what was decided; waiting is the
// action that holds the request where nothing is decided yet.
func (r *request) act(o outcome, waiting types.Action) types.Action {
	switch o {
	case pending:
		return waiting
	case pass:
		return shim.Continue
	}
	return shim.StopIteration // we have answered
}

// OnHttpStreamDone comes when the request is over, however it ended.
func (r *request) OnHttpStreamDone() {
	if current == r {
		current = nil
	}
	switch r.state {
	case reading:
		r.plugin.holding.leave(r)
	case asking:
		if len(r.work.groups) > 1 {
			return // see resumeGone
		}
		r.plugin.link.Leave(&r.ticket)
	}
	r.releaseWork()
}
