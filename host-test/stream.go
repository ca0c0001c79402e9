package hosttest

import "slices"

// Message is what one end of a stream has seen of the other.
type Message struct {
	Started  bool // the headers have arrived
	Headers  Headers
	Body     []byte
	Trailers Headers
	Ended    bool // nothing more will come
}

// Stream is one HTTP request and its response on their way through the plugin.
// The test plays the client (Send…, Disconnect) and the upstream (Respond…),
// and looks at what each got (Upstream, Client).
//
// What Envoy would do is done before a call returns. Calls on a stream that has
// ended do nothing, as bytes that arrive after an answer change nothing.
type Stream struct {
	plugin  *Plugin
	in      *instance
	context *wasmContext // nil until the request's headers have come

	request, response half
	properties        properties
	filterState       map[string]string
	directResponse    *Response

	upstream, client Message
	settled          string // what the plugin has decided about the request, "" if nothing or held again
	replied          bool   // it was a local reply
	reply            *LocalReply
	prepared         bool // the reply waits until the request's callback has returned
	failed           bool // answered by Envoy because the VM is dead
	logging          bool // on_log runs
	finished         bool
	reset            bool
	disconnected     bool
}

// Response is a whole response.
type Response struct {
	Headers  Headers // with ":status"
	Body     []byte
	Trailers Headers
}

// NewStream begins a request: a client has connected and sent nothing yet. The
// old root of an update still takes requests; a closed one takes none, and the
// stream has then ended from the first.
func (p *Plugin) NewStream() *Stream {
	p.vm.reloadIfDue()
	s := &Stream{plugin: p, in: p.root.in, properties: properties{}, filterState: map[string]string{}}
	s.request = newRequestHalf(s)
	s.response = newResponseHalf(s)
	if p.closed {
		s.finished = true
		return s
	}
	p.streams = append(p.streams, s)
	return s
}

// Request sends a whole request: the headers, the body in one piece if it is
// not empty, and the end.
func (p *Plugin) Request(h Headers, body []byte) *Stream {
	s := p.NewStream()
	s.SendHeaders(h, len(body) == 0)
	if len(body) > 0 {
		s.SendBody(body, true)
	}
	return s
}

// RespondAtOnce makes the stream's route answer by itself as soon as the
// request's headers reach it: a direct_response, or a very near upstream.
func (s *Stream) RespondAtOnce(r Response) { s.directResponse = &r }

// SendHeaders sends the request's headers. end says that no body follows.
func (s *Stream) SendHeaders(h Headers, end bool) {
	if s.finished || s.context != nil {
		return
	}
	s.context = s.in.newContext(s.plugin.root, s)
	s.in.callback(s.context.id, "proxy_on_context_create", uint64(s.plugin.root.context.id))
	s.request.receiveHeaders(received(h), end)
}

// SendBody sends a piece of the request's body. end says that it is the last
// one and no trailers follow.
func (s *Stream) SendBody(b []byte, end bool) {
	s.request.receive(piece{data: slices.Clone(b), end: end})
}

// SendTrailers sends the request's trailers, which end it.
func (s *Stream) SendTrailers(h Headers) { s.request.receive(piece{trailers: received(h), end: true}) }

// Disconnect closes the client's connection, at any moment.
func (s *Stream) Disconnect() {
	if !s.finished {
		s.disconnected = true
		s.finish()
	}
}

// RespondHeaders lets the upstream send the response's headers, ":status" among
// them. end says that no body follows.
func (s *Stream) RespondHeaders(h Headers, end bool) {
	if !s.finished && s.reply == nil && !s.response.started {
		s.response.receiveHeaders(received(h), end)
	}
}

// RespondBody lets the upstream send a piece of the response's body.
func (s *Stream) RespondBody(b []byte, end bool) {
	if s.reply == nil {
		s.response.receive(piece{data: slices.Clone(b), end: end})
	}
}

// RespondTrailers lets the upstream send the response's trailers.
func (s *Stream) RespondTrailers(h Headers) {
	if s.reply == nil {
		s.response.receive(piece{trailers: received(h), end: true})
	}
}

// Respond lets the upstream send a whole response.
func (s *Stream) Respond(r Response) {
	hasBody, hasTrailers := len(r.Body) > 0, r.Trailers != nil
	s.RespondHeaders(r.Headers, !hasBody && !hasTrailers)
	if hasBody {
		s.RespondBody(r.Body, !hasTrailers)
	}
	if hasTrailers {
		s.RespondTrailers(r.Trailers)
	}
}

// ID returns the stream's context id, 0 before its headers were sent.
func (s *Stream) ID() uint32 {
	if s.context == nil {
		return 0
	}
	return s.context.id
}

// Plugin returns the root that the stream belongs to.
func (s *Stream) Plugin() *Plugin { return s.plugin }

// Upstream returns what the upstream has seen of the request.
func (s *Stream) Upstream() Message { return s.upstream }

// Client returns what the client has seen of the response.
func (s *Stream) Client() Message { return s.client }

// Take returns what both ends have seen, and forgets the bytes of the bodies, so
// that a long one takes no memory. The next call returns those that came since.
func (s *Stream) Take() (upstream, client Message) {
	upstream, client = s.upstream, s.client
	s.upstream.Body, s.client.Body = nil, nil
	return upstream, client
}

// Status returns the response's status as the client has seen it, "" before.
func (s *Stream) Status() string { return s.client.Headers.Get(":status") }

// Paused says that the plugin holds the request.
func (s *Stream) Paused() bool { return !s.request.dead() && s.request.state != flowing }

// Finished says that the stream is over: answered, reset or disconnected.
func (s *Stream) Finished() bool { return s.finished }

// Reset says that Envoy cut the stream off after the response had begun.
func (s *Stream) Reset() bool { return s.reset }

// Hanging says that the plugin holds the request and its VM is dead, so that
// nothing will ever answer it.
func (s *Stream) Hanging() bool { return s.Paused() && s.in.dead != nil }

// LocalReply returns what the plugin, or Envoy in its place, answered the
// request with, or nil.
func (s *Stream) LocalReply() *LocalReply { return s.reply }

// Details returns the response code details of the local reply, as access logs
// show them: %RESPONSE_CODE_DETAILS%.
func (s *Stream) Details() string {
	if s.reply == nil {
		return ""
	}
	return s.reply.Details
}

// finish ends the stream: on_log, on_done, on_delete. Then its context is gone.
func (s *Stream) finish() {
	if s.finished {
		return
	}
	s.finished = true
	p := s.plugin
	p.streams = slices.DeleteFunc(p.streams, func(other *Stream) bool { return other == s })
	if s.context == nil {
		return
	}
	s.logging = true
	s.in.callback(s.context.id, "proxy_on_log")
	s.logging = false
	s.in.callback(s.context.id, "proxy_on_done")
	s.in.callback(s.context.id, "proxy_on_delete")
	delete(s.in.contexts, s.context.id)
}

// cut ends the stream so that the client sees it broken.
func (s *Stream) cut() {
	s.reset = s.reset || !s.finished
	s.finish()
}

// filter calls one of the stream's callbacks. ok is false where nothing more is
// to be done with what came: the stream has ended, or this direction has.
func (s *Stream) filter(h *half, export string, args ...uint64) (answer uint32, stopped, ok bool) {
	if s.failed {
		return actionContinue, false, true // Envoy's own 503 passes the dead VM by
	}
	if s.in.dead == nil {
		h.running = true
		answer, stopped = s.in.callback(s.context.id, export, args...)
		h.running = false
	}
	if s.in.dead != nil && !s.finished {
		s.failStream()
		return 0, false, false
	}
	if s.prepared && h == &s.request {
		s.prepared = false
		s.encodeReply()
	}
	return answer, stopped, !s.finished && !h.aborted
}

// requestHeaders returns the request's headers where the plugin can see them.
func (s *Stream) requestHeaders() *Headers {
	if s.logging {
		return &s.request.headers
	}
	return s.request.visibleHeaders
}
