package policy

import (
	"routelimit/policy/identity"
	"routelimit/policy/route"
)

// fakeRequest is a request as a table: header lines and Envoy attributes.
type fakeRequest struct {
	headers    map[string][]string
	properties map[string]string
}

func (f *fakeRequest) Header(name string, line int) (string, bool) {
	lines := f.headers[name]
	if line >= len(lines) {
		return "", false
	}
	return lines[line], true
}

func (f *fakeRequest) Property(path string) ([]byte, bool) {
	value, ok := f.properties[path]
	return []byte(value), ok
}

// from is a request of a peer, with one line for each header of the pairs.
func from(peer string, pairs ...string) *fakeRequest {
	f := &fakeRequest{headers: map[string][]string{}, properties: map[string]string{}}
	if peer != "" {
		f.properties["source\x00address"] = peer + ":51000"
	}
	for i := 0; i < len(pairs); i += 2 {
		f.headers[pairs[i]] = append(f.headers[pairs[i]], pairs[i+1])
	}
	return f
}

// planOf matches and plans one request of the default policy of a test.
func planOf(p *Policy, method, path string, attrs identity.Attributes, body string) *Plan {
	var m Matched
	r := p.Match(method, "example.com", path, &m)
	if r == nil {
		return nil
	}
	plan := new(Plan)
	r.Plan(requestOf(attrs, m.Params, body), plan)
	return plan
}

func requestOf(attrs identity.Attributes, params []route.Param, body string) *identity.Request {
	req := &identity.Request{Attrs: attrs, Params: params}
	if body != "" {
		req.Body = &identity.Body{Bytes: []byte(body), Complete: true}
	}
	return req
}

// shape is a plan as text: the key of each group and the names of its limits.
func (p *Plan) shape() map[string][]string {
	if p == nil {
		return nil
	}
	shape := map[string][]string{}
	for _, g := range p.Groups {
		for _, l := range g.Limits {
			shape[string(g.Key)] = append(shape[string(g.Key)], l.Name)
		}
	}
	return shape
}
