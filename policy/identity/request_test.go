package identity

import (
	"testing"

	"routelimit/policy/route"
)

// fakeAttributes answers from lists, as the filter does from the proxy.
type fakeAttributes struct {
	headers    [][2]string
	properties [][2]string
}

func (f *fakeAttributes) Header(name string, line int) (string, bool) {
	for _, h := range f.headers {
		if h[0] != name {
			continue
		}
		if line == 0 {
			return h[1], true
		}
		line--
	}
	return "", false
}

func (f *fakeAttributes) Property(path string) ([]byte, bool) {
	for _, p := range f.properties {
		if p[0] == path {
			return bytesOf(p[1]), true
		}
	}
	return nil, false
}

// request is one request of a test, by default from the peer 192.0.2.1:40000.
type request struct {
	headers    [][2]string
	properties [][2]string
	peer       string // "-": Envoy knows none
	body       *Body
	params     []route.Param
}

func (r request) real() *Request {
	properties := r.properties
	switch r.peer {
	case "":
		properties = append(properties, [2]string{"source\x00address", "192.0.2.1:40000"})
	case "-":
	default:
		properties = append(properties, [2]string{"source\x00address", r.peer})
	}
	return &Request{
		Attrs:  &fakeAttributes{headers: r.headers, properties: properties},
		Body:   r.body,
		Params: r.params,
	}
}

// header makes a request with some headers: name, value, name, value …
func header(pairs ...string) request {
	var r request
	for i := 0; i < len(pairs); i += 2 {
		r.headers = append(r.headers, [2]string{pairs[i], pairs[i+1]})
	}
	return r
}

// noHops is the client setting of an operator who wrote none.
var noHops = Client{TrustedHops: -1}

// source parses a source that must be right.
func source(t testing.TB, text string) Source {
	t.Helper()
	s, err := ParseSource(text)
	if err != nil {
		t.Fatalf("ParseSource(%q): %v", text, err)
	}
	return s
}

// expr parses an identity over components that must be right.
func expr(t testing.TB, d *Definitions, text string) *Expr {
	t.Helper()
	e, err := d.ParseExpr(text)
	if err != nil {
		t.Fatalf("ParseExpr(%q): %v", text, err)
	}
	return e
}

// single is the identity "id" with one component of that source.
func single(t testing.TB, from string) *Expr {
	t.Helper()
	d := NewDefinitions([]Component{{Name: "id", Source: source(t, from)}}, noHops, nil)
	return expr(t, d, "id")
}

// keyOf resolves an identity for one request.
func keyOf(e *Expr, r request) string {
	key, _ := e.Append(nil, r.real())
	return string(key)
}

// resolved is all that Append tells.
type resolved struct {
	Key, Used string
	Noted     Noted
}

func resolve(e *Expr, r request) resolved {
	q := r.real()
	key, used := e.Append(nil, q)
	return resolved{string(key), used, q.Noted}
}
