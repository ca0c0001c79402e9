package hosttest

import (
	"fmt"
	"strings"
)

// What the plugin decides about a stream: to continue it, to answer it or to
// cut it off. All of it is done once the call into the VM has returned.

func (in *instance) setEffectiveContext(args []uint64) uint32 {
	id := uint32(args[0])
	if in.contexts[id] == nil {
		return resultBadArgument
	}
	in.effectiveID = id
	return resultOK
}

func (in *instance) sendLocalResponse(args []uint64) uint32 {
	details, detailsOK := in.read(args[1], args[2])
	body, bodyOK := in.read(args[3], args[4])
	headers, headersOK := in.read(args[5], args[6])
	if !detailsOK || !bodyOK || !headersOK {
		return resultInvalidMemoryAccess
	}
	reply := LocalReply{
		Status:     uint32(args[0]),
		Headers:    lowered(decodePairs(headers)),
		Body:       body,
		Details:    blanksReplaced(string(details)),
		GRPCStatus: int32(uint32(args[7])),
	}
	in.stopIteration = true
	c := in.context()
	if c.stream == nil {
		in.vm.fault("send_local_response for context %d, which is no stream: the request that was meant hangs", c.id)
		return resultOK
	}
	c.stream.settle(fmt.Sprintf("local reply %d", reply.Status), true)
	in.after = append(in.after, func() { c.stream.answer(reply) })
	return resultOK
}

func (in *instance) continueStream(args []uint64) uint32 {
	direction := args[0]
	if direction > streamResponse {
		return resultBadArgument
	}
	c := in.context()
	if c.stream == nil {
		in.vm.fault("continue_stream for context %d, which is no stream: the request that was meant hangs", c.id)
		return resultOK
	}
	s := c.stream
	h := &s.request
	if direction == streamResponse {
		h = &s.response
	} else {
		s.settle("continue", false)
	}
	s.request.hide() // whichever direction: so does Envoy
	in.after = append(in.after, func() { s.resume(h) })
	return resultOK
}

func (in *instance) closeStream(args []uint64) uint32 {
	if args[0] > streamLast {
		return resultBadArgument
	}
	if s := in.context().stream; s != nil && args[0] <= streamResponse {
		in.after = append(in.after, s.cut)
	}
	return resultOK
}

// settle takes note of what the plugin decides about a request and reports a
// second decision: Envoy does not survive it, or one of the two is lost. Only a
// request that was continued and then held again can be decided again, or one
// that refuses in a later callback of its own.
func (s *Stream) settle(decision string, reply bool) {
	own := s.in.currentID == s.context.id
	if s.settled != "" && (s.replied || !reply || !own) {
		s.in.vm.fault("%s for stream %d after %s", decision, s.context.id, s.settled)
	}
	s.settled, s.replied = decision, s.replied || reply
}

// resume continues a direction that the plugin holds.
func (s *Stream) resume(h *half) {
	id := s.context.id
	switch {
	case h.dead():
	case h.running && !h.gone:
		if !h.end {
			s.in.vm.fault("continue_stream for stream %d from its own callback: what follows the headers may hang; answer 0 there instead", id)
		}
		h.resume()
	case h.state == flowing:
		s.in.vm.fault("continue_stream for stream %d, which is not held", id)
	default:
		if h.buffering && !h.end && s.in.vm.host.options.Generation == Old {
			s.in.vm.fault("continue_stream for stream %d before the end of a body that answer 1 buffers: Envoy up to 1.38 loses bytes; answer 2", id)
		}
		h.resume()
	}
}

// answer does what send_local_response asked for. From inside the request's
// own callback, Envoy waits until that has returned.
func (s *Stream) answer(r LocalReply) {
	if s.reply != nil || s.finished {
		return
	}
	s.reply = &r
	s.request.aborted = true
	if s.request.running {
		s.prepared = true
		return
	}
	s.encodeReply()
}

func blanksReplaced(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\v\f\r", r) {
			return '_'
		}
		return r
	}, s)
}

func lowered(h Headers) Headers {
	for i := range h {
		h[i][0] = strings.ToLower(h[i][0])
	}
	return h
}
