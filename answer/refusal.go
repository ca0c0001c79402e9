package answer

import (
	"slices"
	"strconv"
)

// RequestKind is what about a request changes the form of its answer.
type RequestKind struct {
	GRPC bool // its content type is application/grpc, with or without +something
	HEAD bool // no body may follow
}

// Response is a complete answer of our own.
type Response struct {
	// Status is the HTTP status. It is set for gRPC as well, where Envoy makes
	// it 200: so a refusal stays one if the two disagree on what gRPC is.
	Status  uint32
	Headers [][2]string // names in lower case, each once
	Body    []byte      // for gRPC the message, of which Envoy makes grpc-message

	// GRPCStatus is -1 unless the request is gRPC.
	GRPCStatus int32
}

// gRPC status codes (grpc/grpc, doc/statuscodes.md). A quota is not an outage:
// clients repeat UNAVAILABLE at once.
const (
	grpcNone              = -1
	grpcResourceExhausted = 8
	grpcUnimplemented     = 12
	grpcUnavailable       = 14
)

// unavailableRetry is when callers of a closed route may come back, in seconds.
const unavailableRetry = 5

// Refusal is the answer to a request over a limit. quotas are all enforced
// limits of the request; Retry-After is the longest wait of those that
// refused, and absent if the request never passes.
func (s *Style) Refusal(quotas []Quota, kind RequestKind, nowUnix int64) Response {
	after, ever := retryAfter(quotas)
	r := Response{Status: s.refusalStatus(), GRPCStatus: grpcNone}
	r.Headers = make([][2]string, 0, 8+len(s.Headers))
	r.Headers = append(r.Headers, [2]string{"cache-control", "no-store"}) // RFC 6585, section 4
	if ever {
		r.Headers = append(r.Headers, [2]string{"retry-after", strconv.FormatInt(after, 10)})
	}
	r.Headers = s.AppendQuotaHeaders(r.Headers, quotas, nowUnix)
	if kind.GRPC {
		r.GRPCStatus = grpcResourceExhausted
		r.Body = append(r.Body, "rate limited"...)
		if ever {
			r.Body = append(r.Body, "; retry after "...)
			r.Body = strconv.AppendInt(r.Body, after, 10)
			r.Body = append(r.Body, " s"...)
		}
		return s.finish(r, kind, "")
	}
	switch s.Format {
	case Problem:
		r.Body = appendQuotaProblem(nil, r.Status, quotas)
		return s.finish(r, kind, problemType)
	case Custom:
		r.Body = []byte(s.Body)
		return s.finish(r, kind, s.customType())
	default:
		r.Body = appendRateLimited(nil, after, ever)
		return s.finish(r, kind, jsonType)
	}
}

// Unavailable is the answer of a route that fails closed while the limiter
// cannot decide.
func (s *Style) Unavailable(kind RequestKind) Response {
	r := Response{
		Status:     503,
		GRPCStatus: grpcNone,
		Headers: [][2]string{
			{"cache-control", "no-store"},
			{"retry-after", strconv.Itoa(unavailableRetry)},
		},
	}
	switch {
	case kind.GRPC:
		r.GRPCStatus = grpcUnavailable
		r.Body = []byte("rate limiter unavailable")
		return s.finish(r, kind, "")
	case s.Format == Problem:
		r.Body = []byte(`{"type":"about:blank","title":"Service Unavailable","status":503}`)
		return s.finish(r, kind, problemType)
	default:
		r.Body = []byte(`{"error":"rate_limiter_unavailable"}`)
		return s.finish(r, kind, jsonType)
	}
}

// Undeclared is the answer to a request that no route declares.
func (s *Style) Undeclared(kind RequestKind) Response {
	r := Response{Status: 404, GRPCStatus: grpcNone, Headers: [][2]string{{"cache-control", "no-store"}}}
	switch {
	case kind.GRPC:
		r.GRPCStatus = grpcUnimplemented
		r.Body = []byte("route is not declared")
		return s.finish(r, kind, "")
	case s.Format == Problem:
		r.Body = []byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"The route is not declared."}`)
		return s.finish(r, kind, problemType)
	default:
		r.Body = []byte(`{"error":"undeclared_route"}`)
		return s.finish(r, kind, jsonType)
	}
}

func (s *Style) refusalStatus() uint32 {
	if s.Status == 0 {
		return 429
	}
	return s.Status
}

func (s *Style) customType() string {
	if s.ContentType == "" {
		return "text/plain; charset=utf-8"
	}
	return s.ContentType
}

// finish adds the content type, which Envoy itself sets for gRPC, and the
// configured headers, and drops the body where none may follow.
func (s *Style) finish(r Response, kind RequestKind, contentType string) Response {
	if !kind.GRPC {
		r.Headers = append(r.Headers, [2]string{"content-type", contentType})
	}
	for _, h := range s.Headers {
		if kind.GRPC && h[0] == "content-type" {
			continue
		}
		i := slices.IndexFunc(r.Headers, func(ours [2]string) bool { return ours[0] == h[0] })
		if i < 0 {
			r.Headers = append(r.Headers, h)
		} else {
			r.Headers[i] = h
		}
	}
	if kind.HEAD {
		r.Body = nil
	}
	return r
}
