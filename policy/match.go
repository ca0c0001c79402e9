package policy

import "routelimit/policy/route"

// Matched holds what matching one request found, in buffers that the next
// request may use again.
type Matched struct {
	Params []route.Param // of the matched route, valid until the next use of m
	path   []byte
}

// Match returns the route of a request: the most specific that covers it, the
// default, or nil if nothing applies. It takes the method as sent; headers that
// claim another one (X-HTTP-Method-Override) have no say, since anybody can
// send them. The path is the raw one, see
// [route.Reading.Normalize].
func (p *Policy) Match(method, host, rawPath string, m *Matched) *Route {
	m.Params = m.Params[:0]
	if p.Mode == Off {
		return nil
	}
	m.path = p.Paths.Normalize(m.path[:0], rawPath)
	if i, ok := p.table.Match(method, host, m.path, &m.Params); ok {
		return p.Routes[i]
	}
	if p.RefuseUndeclared {
		return nil
	}
	return p.Default
}

// Capture sets m.Params for a route that came from route metadata: what its
// template takes out of the path. They are none if the template does not match,
// since Envoy, not the template, chose the route.
func (r *Route) Capture(rawPath string, m *Matched) {
	m.path = r.paths.Normalize(m.path[:0], rawPath)
	r.own.Match("", "", m.path, &m.Params)
}
