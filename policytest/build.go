package policytest

import (
	"fmt"
	"strings"

	"routelimit/bootstrap"
	"routelimit/described"
	hosttest "routelimit/host-test"
	"routelimit/policy/identity"
)

// build is the request as it reaches the filter, with at most so many bytes of its body read for identities. front is what
// Envoy does before the filter, nil where that is not known.
func (s *Send) build(front *bootstrap.Front, mostBody int) (*described.Request, *identity.Body, error) {
	r, err := described.New(s.Method, s.URL)
	if err != nil {
		return nil, nil, err
	}
	if _, host := r.Header(":authority", 0); !host || r.Headers[1][1] == "" {
		r.Headers[1][1] = "localhost"
	}
	for _, l := range s.Headers {
		if !r.AddHeader(l.Name, l.Value) {
			return nil, nil, fmt.Errorf("the header %q cannot be sent; write a name without blanks, and a value of one line", l.Name)
		}
	}
	if len(s.Cookies) > 0 && !r.AddHeader("cookie", cookies(s.Cookies)) {
		return nil, nil, fmt.Errorf("the cookies cannot be sent; write values of one line")
	}
	if s.Type != "" && !r.Has("content-type") {
		r.AddHeader("content-type", s.Type)
	}
	if err := r.Arrive(s.From, front); err != nil {
		return nil, nil, fmt.Errorf("from %w", err)
	}
	for _, l := range s.Set {
		if err := r.Set(l.Name, l.Value); err != nil {
			return nil, nil, fmt.Errorf("set %w", err)
		}
	}
	if s.EnvoyRoute != "" {
		r.SetEnvoyRoute(s.EnvoyRoute)
	}
	if s.Body == nil {
		return r, nil, nil
	}
	return r, r.Body(s.Body, mostBody), nil
}

func cookies(lines []Line) string {
	var pairs []string
	for _, l := range lines {
		pairs = append(pairs, l.Name+"="+l.Value)
	}
	return strings.Join(pairs, "; ")
}

// begin sends a request into the module.
func begin(p *hosttest.Plugin, r *described.Request, body []byte) *hosttest.Stream {
	s := p.NewStream()
	for path, value := range r.Properties {
		s.SetProperty([]byte(value), strings.Split(path, "\x00")...)
	}
	s.SendHeaders(hosttest.Headers(r.Headers), len(body) == 0)
	if len(body) > 0 {
		s.SendBody(body, true)
	}
	return s
}
