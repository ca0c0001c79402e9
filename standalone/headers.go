package standalone

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"routelimit/bootstrap"
	"routelimit/described"
	hosttest "routelimit/host-test"
)

// arriving is a request as Envoy hands it to the filter: its headers, and who sends it.
func arriving(r *http.Request, front *bootstrap.Front) (hosttest.Headers, map[string]string, error) {
	path := r.RequestURI
	if !strings.HasPrefix(path, "/") && path != "*" {
		path = r.URL.RequestURI() // of http://host/path
	}
	request := &described.Request{
		Headers:    [][2]string{{":method", r.Method}, {":authority", r.Host}, {":path", path}, {":scheme", "http"}},
		Properties: map[string]string{},
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			request.Headers = append(request.Headers, [2]string{strings.ToLower(name), value})
		}
	}
	if r.ContentLength > 0 && r.Header.Get("Content-Length") == "" {
		request.Headers = append(request.Headers, [2]string{"content-length", strconv.FormatInt(r.ContentLength, 10)})
	}
	// A connection header must not take away what is added here.
	request.Headers = withoutHops(request.Headers)
	err := request.Arrive(r.RemoteAddr, front)
	return request.Headers, request.Properties, err
}

// hops are headers of one connection, which no proxy sends on.
var hops = []string{"connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-authenticate", "proxy-authorization"}

// withoutHops leaves "te: trailers", which gRPC needs.
func withoutHops(h hosttest.Headers) hosttest.Headers {
	var named []string // by the connection header
	for _, value := range h.Values("connection") {
		for name := range strings.SplitSeq(value, ",") {
			named = append(named, strings.ToLower(strings.TrimSpace(name)))
		}
	}
	return slices.DeleteFunc(h, func(line [2]string) bool {
		if line[0] == "te" && line[1] == "trailers" || strings.HasPrefix(line[0], ":") {
			return false
		}
		return slices.Contains(hops, line[0]) || slices.Contains(named, line[0])
	})
}

// leaving writes headers from the filter for net/http.
func leaving(to http.Header, headers hosttest.Headers) {
	for _, line := range withoutHops(headers) {
		if !strings.HasPrefix(line[0], ":") && line[0] != "host" {
			to.Add(line[0], line[1])
		}
	}
}

// status is that of a response; what is none becomes 502.
func status(headers hosttest.Headers) int {
	code, err := strconv.Atoi(headers.Get(":status"))
	if err != nil || code < 200 || code > 999 {
		return http.StatusBadGateway
	}
	return code
}

// responding is an upstream's response as Envoy hands it to the filter.
func responding(r *http.Response) hosttest.Headers {
	headers := hosttest.Headers{{":status", strconv.Itoa(r.StatusCode)}}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			headers = append(headers, [2]string{strings.ToLower(name), value})
		}
	}
	return withoutHops(headers)
}

// trailersOf is nil where there are none.
func trailersOf(h http.Header) hosttest.Headers {
	var list hosttest.Headers
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, [2]string{strings.ToLower(name), value})
		}
	}
	return list
}
