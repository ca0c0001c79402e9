package hosttest

// half is one direction of a stream on its way through the plugin, with the
// state that Envoy keeps of a filter (source/common/http/filter_manager.cc).
type half struct {
	s         *Stream
	callbacks callbackNames
	out       *Message
	passed    func() // called when the headers have come out
	ended     func() // called when everything has come out
	tooLarge  LocalReply

	started  bool
	headers  Headers
	trailers Headers
	end      bool // the end has come in
	state    state
	gone     bool // the headers have come out
	aborted  bool // a local reply took the place of this direction
	running  bool // one of the callbacks runs, or what it has put off

	held      []byte // bytes that Envoy holds for the plugin
	holding   bool   // held counts, even if empty
	buffering bool   // the last body answer was 1: the plugin sees all of held
	unread    []piece

	// What hostcalls reach while the plugin may see it.
	visibleHeaders  *Headers
	visibleTrailers *Headers
	visibleBody     *[]byte
}

// state says what this direction does with what comes in.
type state uint8

const (
	flowing    state = iota
	stopped          // headers, body and trailers are held; callbacks go on
	stoppedAll       // the same, and no callback
)

// piece is what comes after the headers.
type piece struct {
	data     []byte
	trailers Headers // nil: data
	end      bool
}

type callbackNames struct{ headers, body, trailers string }

func newRequestHalf(s *Stream) half {
	return half{
		s:         s,
		callbacks: callbackNames{"proxy_on_request_headers", "proxy_on_request_body", "proxy_on_request_trailers"},
		out:       &s.upstream,
		passed: func() {
			if s.directResponse != nil {
				s.Respond(*s.directResponse)
			}
		},
		ended:    func() {},
		tooLarge: LocalReply{Status: 413, Body: []byte("Payload Too Large"), Details: "request_payload_too_large", GRPCStatus: -1},
	}
}

func newResponseHalf(s *Stream) half {
	return half{
		s:         s,
		callbacks: callbackNames{"proxy_on_response_headers", "proxy_on_response_body", "proxy_on_response_trailers"},
		out:       &s.client,
		passed:    func() {},
		ended:     s.finish,
		tooLarge:  LocalReply{Status: 500, Body: []byte("Internal Server Error"), Details: "response_payload_too_large", GRPCStatus: -1},
	}
}

func (h *half) dead() bool { return h.s.finished || h.aborted }

func (h *half) receiveHeaders(headers Headers, end bool) {
	h.started, h.headers, h.end = true, headers, end
	h.visibleHeaders = &h.headers
	answer, stop, ok := h.s.filter(h, h.callbacks.headers, uint64(len(headers)), boolWord(end))
	if !ok {
		return
	}
	switch {
	case stop || answer >= actionStopAllBuffer:
		h.stop(stoppedAll)
	case answer == actionStopIteration && h.s.in.vm.host.options.NoHeadersStopIteration:
		h.stop(stoppedAll)
	case answer == actionStopIteration:
		h.stop(stopped)
	case !h.gone:
		h.visibleHeaders = nil
		h.passHeaders(end)
	}
}

// receive takes what comes after the headers. While more is held than the
// buffer limit, Envoy does not read on.
func (h *half) receive(p piece) {
	if h.dead() || !h.started || h.end {
		return
	}
	if len(h.unread) > 0 || h.full() {
		h.unread = append(h.unread, p)
		return
	}
	h.take(p)
}

func (h *half) full() bool {
	return h.state != flowing && len(h.held) > h.s.in.vm.host.options.BufferLimit
}

func (h *half) take(p piece) {
	h.end = h.end || p.end
	if p.trailers != nil {
		h.trailers = p.trailers
	}
	switch {
	case h.state == stoppedAll && p.trailers == nil:
		h.hold(p.data)
	case h.state == stoppedAll:
	case p.trailers != nil:
		h.filterTrailers()
	default:
		h.filterBody(p.data, p.end)
	}
}

func (h *half) filterBody(data []byte, end bool) {
	buffered := h.buffering
	if buffered {
		h.hold(data)
		h.visibleBody = &h.held
	} else {
		h.visibleBody = &data
	}
	answer, stop, ok := h.s.filter(h, h.callbacks.body, uint64(len(*h.visibleBody)), boolWord(end))
	h.visibleBody, h.buffering = nil, false
	if !ok {
		return
	}
	if stop {
		answer = actionStopNoBuffer
	}
	if answer == actionContinue && h.state == flowing {
		h.passBody(data, end)
		return
	}
	if answer < actionStopNoBuffer && !buffered {
		h.hold(data)
	}
	switch answer {
	case actionContinue:
		h.resume()
	case actionStopIteration:
		h.stop(stopped)
		h.buffering = true
		if h.full() {
			h.s.answer(h.tooLarge)
		}
	case actionStopWatermark:
		h.stop(stopped)
	default: // the plugin has taken these bytes; only the end must not get lost
		h.stop(stopped)
		h.holding = h.holding || end
	}
}

func (h *half) filterTrailers() {
	h.visibleTrailers = &h.trailers
	answer, stop, ok := h.s.filter(h, h.callbacks.trailers, uint64(len(h.trailers)))
	if !ok {
		return
	}
	if stop || answer != actionContinue {
		h.stop(stopped)
		return
	}
	h.visibleTrailers = nil
	if h.state == flowing {
		h.passTrailers()
		return
	}
	h.resume()
}

// stop holds what comes. A request that was continued before is open again.
func (h *half) stop(how state) {
	h.state = how
	if h == &h.s.request {
		h.s.settled = ""
	}
}

func (h *half) hold(data []byte) {
	h.held = append(h.held, data...)
	h.holding = true
}

// resume lets everything that is held go on: from behind this filter, or from
// this filter itself where it had stopped all. Envoy's commonContinue.
func (h *half) resume() {
	fromHere := h.state == stoppedAll
	h.state = flowing
	trailers := h.trailers != nil
	if !h.gone {
		h.passHeaders(h.end && !h.holding && !trailers)
	}
	if h.holding && !h.dead() {
		data := h.held
		h.held, h.holding, h.buffering = nil, false, false
		if fromHere {
			h.filterBody(data, h.end && !trailers)
		} else {
			h.passBody(data, h.end && !trailers)
		}
	}
	if trailers && !h.dead() {
		if fromHere {
			h.filterTrailers()
		} else {
			h.passTrailers()
		}
	}
	h.readOn()
}

// readOn takes what Envoy had not read while too much was held.
func (h *half) readOn() {
	for len(h.unread) > 0 && !h.full() && !h.dead() {
		p := h.unread[0]
		h.unread = h.unread[1:]
		h.take(p)
	}
}

func (h *half) passHeaders(end bool) {
	h.gone = true
	h.out.Started, h.out.Headers, h.out.Ended = true, h.headers.clone(), end
	h.passed()
	if end {
		h.ended()
	}
}

func (h *half) passBody(data []byte, end bool) {
	h.out.Body = append(h.out.Body, data...)
	if end {
		h.out.Ended = true
		h.ended()
	}
}

func (h *half) passTrailers() {
	h.out.Trailers, h.out.Ended = h.trailers.clone(), true
	h.ended()
}

// body returns the bytes that a buffer hostcall reaches, nil if there are none.
func (h *half) body() *[]byte {
	if h.buffering {
		return &h.held
	}
	return h.visibleBody
}

// hide ends what the plugin sees, as continue_stream does.
func (h *half) hide() { h.visibleHeaders, h.visibleTrailers, h.visibleBody = nil, nil, nil }

func boolWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
