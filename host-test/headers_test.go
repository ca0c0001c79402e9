package hosttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderMapCalls(t *testing.T) {
	two := []string{"x-key", "1", "x-key", "2", "x-forwarded-for", "192.0.2.1,192.0.2.2", "X-Forwarded-For", "192.0.2.3", "x-empty", ""}
	for name, c := range map[string]struct {
		script string
		said   []string
		want   Headers // of the upstream after the pseudo headers, nil: not looked at
	}{
		"get is the first line":                   {"get 0 x-key", []string{"get 0 x-key = 0 1"}, nil},
		"get ignores case":                        {"get 0 X-KEY", []string{"get 0 X-KEY = 0 1"}, nil},
		"authorization is joined":                 {"add 0 authorization a; add 0 authorization b; get 0 authorization", []string{"add 0 authorization a = 0", "add 0 authorization b = 0", "get 0 authorization = 0 a,b"}, nil},
		"x-forwarded-for is joined":               {"get 0 x-forwarded-for", []string{"get 0 x-forwarded-for = 0 192.0.2.1,192.0.2.2,192.0.2.3"}, nil},
		"an empty header is there":                {"get 0 x-empty", []string{"get 0 x-empty = 0"}, nil},
		"an absent header is not":                 {"get 0 x-none", []string{"get 0 x-none = 1"}, nil},
		"no such map":                             {"get 2 x-key; get 9 x-key; pairs 2; pairs 9; mapsize 2", []string{"get 2 x-key = 2", "get 9 x-key = 2", "pairs 2 = 0", "pairs 9 = 2", "mapsize 2 = 2 0"}, nil},
		"size in bytes":                           {"setpairs 0 ab cde f g; mapsize 0", []string{"setpairs 0 ab cde f g = 0", "mapsize 0 = 0 7"}, nil},
		"add keeps the others":                    {"setpairs 0 a 1; add 0 A 2", nil, Headers{{"a", "1"}, {"a", "2"}}},
		"add joins x-forwarded-for":               {"setpairs 0 x-forwarded-for 1; add 0 x-forwarded-for 2", nil, Headers{{"x-forwarded-for", "1,2"}}},
		"replace leaves one":                      {"setpairs 0 a 1 b 2 a 3; replace 0 A 4", nil, Headers{{"b", "2"}, {"a", "4"}}},
		"replace keeps the place of a joined one": {"setpairs 0 :path /a user-agent 1 b 2; replace 0 user-agent 4; replace 0 :path /b", nil, Headers{{":path", "/b"}, {"user-agent", "4"}, {"b", "2"}}},
		"replace adds":                            {"setpairs 0 a 1; replace 0 c 2", nil, Headers{{"a", "1"}, {"c", "2"}}},
		"remove takes all lines":                  {"setpairs 0 a 1 b 2 a 3; remove 0 a; remove 0 none", nil, Headers{{"b", "2"}}},
		"malformed pairs are no pairs":            {"setpairs 0 a", nil, Headers{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, "request_headers: "+c.script)
			s := p.Request(get(two...), nil)
			got := said(p.VM(), "")[2:]
			if c.said != nil {
				if diff := cmp.Diff(c.said, got); diff != "" {
					t.Error(diff)
				}
			}
			if c.want != nil {
				if diff := cmp.Diff(c.want, append(Headers{}, s.Upstream().Headers...)); diff != "" {
					t.Error(diff)
				}
			}
			noFaults(t, p.VM())
		})
	}
}

func TestRequestHeadersAreGoneOnceContinued(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 4\ntick: all continue\nrequest_body: get 0 x-a\nresponse_headers: get 0 x-a\nlog: get 0 x-a; replace 0 x-a 2; get 2 :status; get 2 x-b\nconfigure: ticks 1")
	s := p.NewStream()
	s.SendHeaders(get("x-a", "1"), false)
	s.SendBody([]byte("b"), true)
	p.VM().Advance(1e6)
	s.Respond(Response{Headers: Headers{{":status", "204"}, {"x-b", "3"}}})
	want := []string{"get 0 x-a = 2", "get 0 x-a = 2", "get 0 x-a = 0 1", "get 2 :status = 0 204", "get 2 x-b = 0 3"}
	if diff := cmp.Diff(want, prefixed("get ", said(p.VM(), "get "))); diff != "" {
		t.Errorf("%s%s", diff, p.VM().LogText())
	}
	if diff := cmp.Diff([]string{"0 x-a 2 = 2"}, said(p.VM(), "replace ")); diff != "" {
		t.Error(diff)
	}
	noFaults(t, p.VM())
}

func TestRequestHeadersStayWhileHeld(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 1\nrequest_body: get 0 x-a; replace 0 x-a 2; answer 0")
	s := p.Request(get("x-a", "1"), []byte("body"))
	if diff := cmp.Diff([]string{"0 x-a = 0 1"}, said(p.VM(), "get ")); diff != "" {
		t.Error(diff)
	}
	if got := s.Upstream().Headers.Get("x-a"); got != "2" {
		t.Errorf("the upstream has x-a %q", got)
	}
}

func TestEffectiveContextLastsForTheCallback(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 4\nconfigure: ticks 1\ntick: get 0 x-a; effective 2; get 0 x-a; get 0 x-a")
	p.Request(get("x-a", "1"), nil)
	p.VM().Advance(2e6)
	want := []string{"= 2", "= 0 1", "= 0 1", "= 2", "= 0 1", "= 0 1"}
	if diff := cmp.Diff(want, said(p.VM(), "get 0 x-a")); diff != "" {
		t.Error(diff)
	}
}

func TestResponseHeadersReplaceLeavesOne(t *testing.T) {
	p := start(t, Options{}, "response_headers: get 2 x-ratelimit-limit; replace 2 x-ratelimit-limit 9; add 2 x-other 1")
	s := p.Request(get(), nil)
	s.Respond(Response{Headers: Headers{{":status", "200"}, {"X-RateLimit-Limit", "1"}, {"x-ratelimit-limit", "2"}}, Body: []byte("hi")})
	want := Headers{{":status", "200"}, {"x-ratelimit-limit", "9"}, {"x-other", "1"}}
	if diff := cmp.Diff(want, s.Client().Headers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2 x-ratelimit-limit = 0 1"}, said(p.VM(), "get ")); diff != "" {
		t.Error(diff)
	}
}

func TestTrailersCanBeEdited(t *testing.T) {
	p := start(t, Options{}, "request_trailers: get 1 x-t; replace 1 x-t 2\nresponse_trailers: get 3 grpc-status; add 3 x-u 3")
	s := p.NewStream()
	s.SendHeaders(get(), false)
	s.SendBody([]byte("b"), false)
	s.SendTrailers(Headers{{"x-t", "1"}})
	s.Respond(Response{Headers: Headers{{":status", "200"}}, Body: []byte("r"), Trailers: Headers{{"grpc-status", "0"}}})
	if diff := cmp.Diff(Headers{{"x-t", "2"}}, s.Upstream().Trailers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Headers{{"grpc-status", "0"}, {"x-u", "3"}}, s.Client().Trailers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 x-t = 0 1", "3 grpc-status = 0 0"}, said(p.VM(), "get ")); diff != "" {
		t.Error(diff)
	}
	noFaults(t, p.VM())
}

func TestTooManyHeadersDoNotFitThePairs(t *testing.T) {
	p := start(t, Options{}, "request_headers: pairs 0")
	h := get()
	for range maxPairs {
		h = append(h, [2]string{"x", "y"})
	}
	p.Request(h, nil)
	if diff := cmp.Diff([]string{"0 = 6"}, said(p.VM(), "pairs ")); diff != "" {
		t.Error(diff)
	}
}

func prefixed(prefix string, lines []string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, prefix+l)
	}
	return out
}
