package standalone

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	hosttest "routelimit/host-test"
)

// upstreams are the ways to what is protected: HTTP/1.1, and HTTP/2 for gRPC.
type upstreams struct{ http, grpc *http.Transport }

const (
	connectTimeout  = 5 * time.Second
	responseTimeout = 15 * time.Second // to the first byte, as Envoy's for a route
)

func newUpstreams(addr string) upstreams {
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	dialer := &net.Dialer{Timeout: connectTimeout}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}
	h1 := &http.Transport{
		DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		ResponseHeaderTimeout: responseTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	h2 := h1.Clone()
	h2.Protocols = new(http.Protocols)
	h2.Protocols.SetUnencryptedHTTP2(true)
	return upstreams{http: h1, grpc: h2}
}

func (u *upstreams) close() {
	u.http.CloseIdleConnections()
	u.grpc.CloseIdleConnections()
}

// ask sends the request on and the response into the filter.
func (x *exchange) ask() {
	defer close(x.answered)
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.request.Context()))
	defer cancel()
	// The request is given up when nobody waits for its answer.
	go func() {
		x.client.wait()
		cancel()
	}()
	headers, _ := x.upstream.head()
	response, err := x.upstreams.way(headers).RoundTrip(x.outgoing(ctx, headers))
	if err != nil {
		_ = x.worker.do(func() { x.stream.Respond(unreached(err)) })
		return
	}
	defer response.Body.Close()
	x.receive(response)
}

func (u *upstreams) way(headers hosttest.Headers) *http.Transport {
	if kind := headers.Get("content-type"); kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+") {
		return u.grpc
	}
	return u.http
}

func (x *exchange) outgoing(ctx context.Context, headers hosttest.Headers) *http.Request {
	target := &url.URL{Scheme: "http", Host: "upstream", Path: x.request.URL.Path, RawPath: x.request.URL.RawPath,
		RawQuery: x.request.URL.RawQuery, ForceQuery: x.request.URL.ForceQuery}
	r := (&http.Request{
		Method: x.request.Method, URL: target, Host: x.request.Host, Header: http.Header{}, Body: outgoingBody{x.upstream, x.trailer}, ContentLength: -1,
		Trailer: x.trailer,
	}).WithContext(ctx)
	leaving(r.Header, headers)
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "") // so that none is added
	}
	if length, err := strconv.ParseInt(headers.Get("content-length"), 10, 64); err == nil && length >= 0 {
		r.ContentLength = length
	}
	if x.upstream.empty() {
		r.Body, r.ContentLength, r.Trailer = http.NoBody, 0, nil
	}
	return r
}

// outgoingBody is a request's body, behind which its trailers are known.
type outgoingBody struct {
	*passage
	trailer http.Header
}

// Read implements io.Reader.
func (b outgoingBody) Read(to []byte) (int, error) {
	n, err := b.passage.Read(to)
	if err == io.EOF {
		for _, line := range b.lastLines() {
			if name := http.CanonicalHeaderKey(line[0]); b.trailer != nil {
				b.trailer[name] = append(b.trailer[name], line[1])
			}
		}
	}
	return n, err
}

// receive sends the upstream's response into the filter, no faster than the client takes it.
func (x *exchange) receive(r *http.Response) {
	bodyless := r.Body == http.NoBody || r.ContentLength == 0
	if x.worker.do(func() { x.stream.RespondHeaders(responding(r), bodyless) }) != nil || bodyless {
		return
	}
	buffer := make([]byte, 16<<10)
	for {
		n, err := r.Body.Read(buffer)
		end := err == io.EOF
		trailers := trailersOf(r.Trailer)
		if x.worker.do(func() {
			x.stream.RespondBody(buffer[:n], end && trailers == nil)
			switch {
			case end && trailers != nil:
				x.stream.RespondTrailers(trailers)
			case err != nil && !end:
				x.stream.Disconnect()
			}
		}) != nil || err != nil {
			return
		}
		x.client.room()
	}
}

// unreached is what Envoy answers where the upstream does not.
func unreached(err error) hosttest.Response {
	code, text := "503", "the upstream cannot be reached"
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		code, text = "504", "the upstream did not answer in time"
	}
	return hosttest.Response{Headers: hosttest.Headers{{":status", code}, {"content-type", "text/plain"}}, Body: []byte(text)}
}
