package hosttest

import (
	"slices"
	"strings"
)

// Headers are header lines in order, pseudo headers such as ":path" included.
// A name may occur more than once. Names are lower case once a stream has them.
type Headers [][2]string

// RequestHeaders returns the headers of a request, lines being further names
// and values in turn.
func RequestHeaders(method, authority, path string, lines ...string) Headers {
	h := Headers{{":method", method}, {":authority", authority}, {":path", path}, {":scheme", "http"}}
	for i := 0; i+1 < len(lines); i += 2 {
		h = append(h, [2]string{lines[i], lines[i+1]})
	}
	return h
}

// Get returns the first line of that name, or "".
func (h Headers) Get(name string) string {
	v, _ := h.first(name)
	return v
}

// Values returns the value of every line of that name.
func (h Headers) Values(name string) []string {
	var values []string
	for _, line := range h {
		if line[0] == name {
			values = append(values, line[1])
		}
	}
	return values
}

func (h Headers) first(name string) (string, bool) {
	for _, line := range h {
		if line[0] == name {
			return line[1], true
		}
	}
	return "", false
}

// joined are names of which Envoy keeps one line: a second one is joined to the
// first by a comma (seen on Envoy 1.40). All other names keep their lines.
var joined = []string{
	"accept", "accept-encoding", "access-control-request-method", "authorization", "cache-control",
	"connection", "content-encoding", "content-length", "content-type", "expect", "grpc-timeout",
	"if-none-match", "origin", "referer", "te", "upgrade", "user-agent", "via",
	"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-request-id",
}

// add appends a line the way Envoy's header map does.
func (h *Headers) add(name, value string) {
	name = strings.ToLower(name)
	if slices.Contains(joined, name) {
		for i := range *h {
			if (*h)[i][0] == name {
				(*h)[i][1] += "," + value
				return
			}
		}
	}
	*h = append(*h, [2]string{name, value})
}

// set leaves one line of that name, the last one of all where it is no pseudo
// header and Envoy keeps it among those that can have several lines.
func (h *Headers) set(name, value string) {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, ":") || slices.Contains(joined, name) {
		for i := range *h {
			if (*h)[i][0] == name {
				(*h)[i][1] = value
				return
			}
		}
	}
	h.remove(name)
	*h = append(*h, [2]string{name, value})
}

func (h *Headers) remove(name string) {
	name = strings.ToLower(name)
	*h = slices.DeleteFunc(*h, func(line [2]string) bool { return line[0] == name })
}

// received returns lines as Envoy has them after its codec.
func received(lines Headers) Headers {
	h := Headers{}
	for _, line := range lines {
		h.add(line[0], line[1])
	}
	return h
}

func (h Headers) clone() Headers { return slices.Clone(h) }
