package route

import (
	"strings"

	"routelimit/plainfmt"
)

// Reason says why p wins over another pattern for a request that both match. It
// is "" if the other one wins, or both match the same requests.
func (p Pattern) Reason(other Pattern, method string) string {
	if p.Host != other.Host {
		if p.Host == "" {
			return ""
		}
		return plainfmt.Sprintf("it names the host %s", p.Host)
	}
	for i := range min(len(p.segments), len(other.segments)) {
		own, others := p.segments[i], other.segments[i]
		if own.kind == others.kind {
			continue
		}
		if own.kind > others.kind {
			return ""
		}
		return plainfmt.Sprintf("its segment %d is %s, the other's %s", i+1, show(own), show(others))
	}
	if methodRank(p.Method, method) >= methodRank(other.Method, method) {
		return ""
	}
	if p.Method == "GET" && strings.EqualFold(method, "HEAD") {
		return "HEAD goes by GET before *"
	}
	return "it names the method"
}

// methodRank orders the methods of patterns that match a request; see pick.
func methodRank(pattern, method string) int {
	switch {
	case strings.EqualFold(pattern, method):
		return 0
	case pattern != "*":
		return 1 // GET's, for HEAD
	}
	return 2
}

// show is a segment as a template writes it, with what it takes.
func show(s segment) string {
	switch s.kind {
	case parameter:
		return plainfmt.Sprintf(`":%s", any one`, s.text)
	case wildcard:
		return `"*", the rest`
	}
	return plainfmt.Sprintf("%q", s.text)
}
