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
