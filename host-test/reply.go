package hosttest

import (
	"fmt"
	"strconv"
	"strings"
)

// LocalReply is an answer that does not come from an upstream, as
// send_local_response asked for it. Stream.Client has what became of it.
type LocalReply struct {
	Status     uint32
	Headers    Headers
	Body       []byte
	Details    string // with blanks replaced, as access logs show it
	GRPCStatus int32  // -1: derived from Status
}

// failedDetails are the response code details of Envoy's 503 for a dead VM.
const failedDetails = "wasm_fail_stream"

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

// encodeReply sends the reply through the plugin's response callbacks, or past
// them where a response had begun to pass, or cuts the stream off where the
// client has seen its headers.
func (s *Stream) encodeReply() {
	if s.client.Started {
		s.cut()
		return
	}
	headers, body := s.reply.encode(s.request.headers)
	direct := s.response.started
	s.response.aborted = direct
	if !direct {
		s.response.receiveHeaders(headers, len(body) == 0)
		if len(body) > 0 {
			s.response.receive(piece{data: body, end: true})
		}
		return
	}
	s.client = Message{Started: true, Headers: headers, Body: body, Ended: true}
	s.finish()
}

// failStream answers a stream that meets a dead VM with 503, in place of
// whatever answer was on its way.
func (s *Stream) failStream() {
	if s.failed {
		return
	}
	s.failed = true
	s.reply = &LocalReply{Status: 503, Details: failedDetails, GRPCStatus: grpcUnavailable}
	s.request.aborted = true
	s.prepared = false
	s.encodeReply()
}

// encode returns the response that Envoy makes of a local reply
// (source/common/http/utility.cc, prepareLocalReply).
func (r *LocalReply) encode(request Headers) (headers Headers, body []byte) {
	headers = Headers{{":status", strconv.Itoa(int(r.Status))}}
	for _, line := range r.Headers {
		headers.add(line[0], line[1])
	}
	head := request.Get(":method") == "HEAD"
	if isGRPC(request) {
		headers.set(":status", "200")
		headers.set("content-type", "application/grpc")
		if headers.Get("grpc-status") == "" {
			headers.set("grpc-status", fmt.Sprint(r.grpcStatus()))
		}
		if len(r.Body) > 0 && !head {
			headers.set("grpc-message", percentEncoded(r.Body))
		}
		headers.remove("content-length")
		return headers, nil
	}
	if len(r.Body) == 0 {
		headers.remove("content-length")
		headers.remove("content-type")
		return headers, nil
	}
	headers.set("content-length", strconv.Itoa(len(r.Body)))
	if headers.Get("content-type") == "" {
		headers.set("content-type", "text/plain")
	}
	if head {
		return headers, nil
	}
	return headers, r.Body
}

func isGRPC(request Headers) bool {
	kind := request.Get("content-type")
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
}

// gRPC status codes that Envoy gives.
const (
	grpcUnknown          = 2
	grpcPermissionDenied = 7
	grpcUnimplemented    = 12
	grpcInternal         = 13
	grpcUnavailable      = 14
	grpcUnauthenticated  = 16
)

// grpcStatus returns the status given, or what Envoy derives from the HTTP
// status where -1 was given (source/common/grpc/status.cc).
func (r *LocalReply) grpcStatus() int32 {
	if r.GRPCStatus != -1 {
		return r.GRPCStatus
	}
	switch r.Status {
	case 400:
		return grpcInternal
	case 401:
		return grpcUnauthenticated
	case 403:
		return grpcPermissionDenied
	case 404:
		return grpcUnimplemented
	case 429, 502, 503, 504:
		return grpcUnavailable
	}
	return grpcUnknown
}

// percentEncoded returns a body as grpc-message carries it.
func percentEncoded(body []byte) string {
	var b strings.Builder
	for _, c := range body {
		if c < ' ' || c >= '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
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
