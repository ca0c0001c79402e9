package hosttest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What an upload of three pieces comes to, by what the plugin answers to its
// headers and to each piece. "tick" continues what is held.
func TestUploadByAnswers(t *testing.T) {
	type seen struct {
		Callbacks []string // size and end
		Upstream  string
		Ended     bool
	}
	const resume = "\nconfigure: ticks 1\ntick: all continue"
	for name, c := range map[string]struct {
		script string
		before string // of the upload's body at the upstream before the tick
		want   seen
	}{
		"0, 0: streams": {
			"request_headers: answer 0", "abcdef",
			seen{[]string{"2 0", "2 0", "2 1"}, "abcdef", true}},
		"4: nothing but the headers until continued, then all at once": {
			"request_headers: answer 4" + resume, "",
			seen{[]string{"6 1"}, "abcdef", true}},
		"1, 2: each piece, held under back-pressure": {
			"request_headers: answer 1\nrequest_body: answer 2" + resume, "",
			seen{[]string{"2 0", "2 0", "2 1"}, "abcdef", true}},
		"1, 1: each time all that is buffered": {
			"request_headers: answer 1\nrequest_body: answer 1" + resume, "",
			seen{[]string{"2 0", "4 0", "6 1"}, "abcdef", true}},
		"1, then 1, 2, 2: what was buffered is held, then each piece": {
			"request_headers: answer 1\nrequest_body: turns 1 2 2" + resume, "",
			seen{[]string{"2 0", "4 0", "2 1"}, "abcdef", true}},
		"1, 0: goes on with the first piece": {
			"request_headers: answer 1\nrequest_body: answer 0", "abcdef",
			seen{[]string{"2 0", "2 0", "2 1"}, "abcdef", true}},
		"1, 3: the plugin has taken the bytes": {
			"request_headers: answer 1\nrequest_body: answer 3" + resume, "",
			seen{[]string{"2 0", "2 0", "2 1"}, "", true}},
		"0, 3: the headers have gone, the plugin has taken the bytes": {
			"request_headers: answer 0\nrequest_body: answer 3" + resume, "",
			seen{[]string{"2 0", "2 0", "2 1"}, "", true}},
		"0, 2: the headers have gone, the body is held": {
			"request_headers: answer 0\nrequest_body: answer 2" + resume, "",
			seen{[]string{"2 0", "2 0", "2 1"}, "abcdef", true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, c.script)
			s := p.NewStream()
			s.SendHeaders(get(), false)
			s.SendBody([]byte("ab"), false)
			s.SendBody([]byte("cd"), false)
			s.SendBody([]byte("ef"), true)
			if got := string(s.Upstream().Body); got != c.before {
				t.Errorf("at first the upstream has %q, want %q", got, c.before)
			}
			p.VM().Advance(1e6)
			got := seen{bodyCallbacks(p.VM()), string(s.Upstream().Body), s.Upstream().Ended}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			noFaults(t, p.VM())
		})
	}
}

// bodyCallbacks returns the sizes and ends of the request_body callbacks.
func bodyCallbacks(vm *VM) []string {
	var list []string
	for _, args := range said(vm, "request_body ") {
		list = append(list, strings.Trim(args, "[]"))
	}
	return list
}

func TestWithoutHeadersStopIterationAnswer1HoldsAll(t *testing.T) {
	p := start(t, Options{NoHeadersStopIteration: true}, "request_headers: answer 1\nrequest_body: answer 0")
	s := p.Request(get(), []byte("body"))
	if !s.Paused() || len(bodyCallbacks(p.VM())) != 0 || s.Upstream().Started {
		t.Errorf("paused %v, callbacks %v, upstream %v", s.Paused(), bodyCallbacks(p.VM()), s.Upstream())
	}
}

func TestTrailersEndAnUpload(t *testing.T) {
	for name, script := range map[string]string{
		"held by 1 and 2, decided in the trailers": "request_headers: answer 1\nrequest_body: answer 2\nrequest_trailers: answer 0",
		"held by 1, trailers held by 1":            "request_headers: answer 1\nrequest_body: answer 2\nrequest_trailers: answer 1\nconfigure: ticks 1\ntick: all continue",
		"held by 4":                                "request_headers: answer 4\nconfigure: ticks 1\ntick: all continue",
		"streamed":                                 "request_headers: answer 0",
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, script)
			s := p.NewStream()
			s.SendHeaders(get(), false)
			s.SendBody([]byte("ab"), false)
			s.SendTrailers(Headers{{"X-T", "1"}})
			p.VM().Advance(1e6)
			got := s.Upstream()
			if string(got.Body) != "ab" || got.Trailers.Get("x-t") != "1" || !got.Ended {
				t.Errorf("the upstream has %+v", got)
			}
			if callbacks := bodyCallbacks(p.VM()); len(callbacks) != 1 || callbacks[0] != "2 0" {
				t.Errorf("body callbacks %q", callbacks)
			}
			noFaults(t, p.VM())
		})
	}
}

func TestBufferedBodyAboveTheLimitIs413(t *testing.T) {
	p := start(t, Options{BufferLimit: 4}, "request_headers: answer 1\nrequest_body: answer 1")
	s := p.Request(get(), []byte("abcde"))
	if s.Status() != "413" || s.Details() != "request_payload_too_large" || s.Upstream().Started {
		t.Errorf("%s %s, upstream %+v", s.Status(), s.Details(), s.Upstream())
	}
}

func TestHeldBodyAboveTheLimitStopsReading(t *testing.T) {
	p := start(t, Options{BufferLimit: 4}, "request_headers: answer 1\nrequest_body: answer 2\nconfigure: ticks 1\ntick: all continue")
	s := p.NewStream()
	s.SendHeaders(get(), false)
	s.SendBody([]byte("abcde"), false)
	s.SendBody([]byte("fgh"), true)
	if diff := cmp.Diff([]string{"5 0"}, bodyCallbacks(p.VM())); diff != "" {
		t.Errorf("read on: %s", diff)
	}
	p.VM().Advance(1e6)
	// The rest is read after the continue, and the plugin holds it again.
	if diff := cmp.Diff([]string{"5 0", "3 1"}, bodyCallbacks(p.VM())); diff != "" {
		t.Error(diff)
	}
	if got := string(s.Upstream().Body); got != "abcde" {
		t.Errorf("the upstream has %q", got)
	}
}

func TestBufferCallsReadAndChangeABody(t *testing.T) {
	for name, c := range map[string]struct{ call, said, want string }{
		"read a part":            {"buffer 0 1 2", "0 1 2 = 0 bc", "abcd"},
		"read beyond the end":    {"buffer 0 2 99", "0 2 99 = 0 cd", "abcd"},
		"read after the end":     {"buffer 0 9 1", "0 9 1 = 0", "abcd"},
		"another body":           {"buffer 1 0 9", "1 0 9 = 0", "abcd"},
		"no such buffer":         {"buffer 4 0 9", "4 0 9 = 1", "abcd"},
		"no such kind":           {"buffer 9 0 9", "9 0 9 = 2", "abcd"},
		"replace all":            {"setbuffer 0 0 0x7fffffff xyz", "", "xyz"},
		"replace the first":      {"setbuffer 0 0 2 xyz", "", "xyzcd"},
		"put in front":           {"setbuffer 0 0 0 xyz", "", "xyzabcd"},
		"append":                 {"setbuffer 0 4 0 xyz", "", "abcdxyz"},
		"in the middle: refused": {"setbuffer 0 2 0 xyz", "", "abcd"},
		"nothing":                {"setbuffer 0 0 99", "", ""},
	} {
		for _, hold := range []string{"0", "1"} {
			t.Run(name+", headers answered "+hold, func(t *testing.T) {
				p := start(t, Options{}, "request_headers: answer "+hold+"\nrequest_body: "+c.call)
				s := p.Request(get(), []byte("abcd"))
				if got := string(s.Upstream().Body); got != c.want {
					t.Errorf("the upstream has %q, want %q", got, c.want)
				}
				if c.said != "" {
					if diff := cmp.Diff([]string{c.said}, said(p.VM(), "buffer ")); diff != "" {
						t.Error(diff)
					}
				}
				noFaults(t, p.VM())
			})
		}
	}
}

func TestResponseBodyIsChangedPieceByPiece(t *testing.T) {
	p := start(t, Options{}, "response_headers: add 2 content-type application/grpc\nresponse_body: buffersize 1; setbuffer 1 0 0 <>")
	s := p.Request(get(), nil)
	s.RespondHeaders(Headers{{":status", "200"}}, false)
	s.RespondBody([]byte("ab"), false)
	s.RespondBody([]byte("cde"), true)
	if got := string(s.Client().Body); got != "<>ab<>cde" {
		t.Errorf("the client has %q", got)
	}
	if diff := cmp.Diff([]string{"1 = 0 2", "1 = 0 3"}, said(p.VM(), "buffersize ")); diff != "" {
		t.Error(diff)
	}
}

func TestResponseCanBeHeldAndContinued(t *testing.T) {
	p := start(t, Options{}, "response_headers: answer 4\nlog: log 2 logged\nconfigure: ticks 1\ntick: effective 2; continue 1")
	s := p.Request(get(), nil)
	s.Respond(ok("hello"))
	if s.Client().Started {
		t.Error("not held")
	}
	p.VM().Advance(1e6)
	if got := s.Client(); string(got.Body) != "hello" || !got.Ended || !s.Finished() {
		t.Errorf("%+v", got)
	}
	noFaults(t, p.VM())
}

// However a body is cut and whenever the plugin continues, the upstream gets
// exactly what the client sent.
func TestHeldUploadsArriveWhole(t *testing.T) {
	for _, script := range []string{
		"request_headers: answer 1\nrequest_body: answer 2",
		"request_headers: answer 4",
		"request_headers: answer 0",
	} {
		p := start(t, Options{BufferLimit: 1 << 10}, "configure: ticks 1\ntick: all continue\n"+script)
		rapid.Check(t, func(t *rapid.T) {
			pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 400), 0, 12).Draw(t, "pieces")
			trailers := rapid.Bool().Draw(t, "trailers")
			s := p.NewStream()
			s.SendHeaders(get(), len(pieces) == 0 && !trailers)
			for i, piece := range pieces {
				if rapid.IntRange(0, 9).Draw(t, "continue first") == 0 {
					p.VM().Advance(1e6)
				}
				s.SendBody(piece, i == len(pieces)-1 && !trailers)
			}
			if trailers {
				s.SendTrailers(Headers{{"a", "b"}})
			}
			for range 2 * (len(pieces) + 1) { // each continue lets Envoy read on, and the plugin hold again
				p.VM().Advance(1e6)
			}
			got := s.Upstream()
			if !got.Ended || !bytes.Equal(got.Body, bytes.Join(pieces, nil)) || (got.Trailers != nil) != trailers {
				t.Fatalf("the upstream has %d of %d bytes, ended %v, trailers %v", len(got.Body), len(bytes.Join(pieces, nil)), got.Ended, got.Trailers)
			}
			s.Disconnect()
		})
		if vm := p.VM(); vm.Dead() != nil {
			t.Fatal(vm.Dead())
		}
	}
}

// Who sends a long body on takes it piece by piece, and the stream keeps none of it.
func TestTakeReturnsWhatCameSinceTheLastTime(t *testing.T) {
	p := start(t, Options{}, "")
	s := p.NewStream()
	s.SendHeaders(RequestHeaders("POST", "example.com", "/"), false)
	for i, piece := range []string{"one", "two"} {
		s.SendBody([]byte(piece), i == 1)
		if upstream, _ := s.Take(); string(upstream.Body) != piece || !upstream.Started || upstream.Ended != (i == 1) {
			t.Errorf("piece %d: %+v", i, upstream)
		}
	}
	s.Respond(Response{Headers: Headers{{":status", "200"}}, Body: []byte("three")})
	if upstream, client := s.Take(); len(upstream.Body) != 0 || string(client.Body) != "three" || !client.Ended {
		t.Errorf("upstream %+v, client %+v", upstream, client)
	}
	if _, client := s.Take(); len(client.Body) != 0 || client.Headers.Get(":status") != "200" {
		t.Errorf("client %+v", client)
	}
}
