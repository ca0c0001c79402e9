package hosttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A refusal right away and one from a later callback must come to the same.
var replyMoments = map[string]string{
	"in its own callback": "request_headers: REPLY",
	"from a tick":         "request_headers: answer 4\nconfigure: ticks 1\ntick: effective 2; REPLY",
}

func TestLocalReplyAsEnvoyMapsIt(t *testing.T) {
	for name, c := range map[string]struct {
		request Headers
		reply   string
		want    Message
	}{
		"plain": {get(), "reply 429 -1 limited why retry-after 7",
			Message{Headers: Headers{{":status", "429"}, {"retry-after", "7"}, {"content-length", "7"}, {"content-type", "text/plain"}}, Body: []byte("limited")}},
		"own content type": {get(), "reply 429 -1 {} why Content-Type application/json",
			Message{Headers: Headers{{":status", "429"}, {"content-type", "application/json"}, {"content-length", "2"}}, Body: []byte("{}")}},
		"HEAD": {RequestHeaders("HEAD", "a", "/"), "reply 429 -1 limited why",
			Message{Headers: Headers{{":status", "429"}, {"content-length", "7"}, {"content-type", "text/plain"}}}},
		"gRPC with a status": {get("content-type", "application/grpc"), "reply 429 8 50%~off why retry-after 7",
			Message{Headers: Headers{{":status", "200"}, {"retry-after", "7"}, {"content-type", "application/grpc"}, {"grpc-status", "8"}, {"grpc-message", "50%25%7Eoff"}}}},
		"gRPC derived": {get("content-type", "application/grpc+proto"), "reply 429 -1",
			Message{Headers: Headers{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "14"}}}},
		"grpc-web is no gRPC": {get("content-type", "application/grpc-web"), "reply 429 8 limited why",
			Message{Headers: Headers{{":status", "429"}, {"content-length", "7"}, {"content-type", "text/plain"}}, Body: []byte("limited")}},
	} {
		for moment, script := range replyMoments {
			t.Run(name+" "+moment, func(t *testing.T) {
				p := start(t, Options{}, strings.ReplaceAll(script, "REPLY", c.reply)+"\nlog: log 2 logged")
				s := p.Request(c.request, nil)
				p.VM().Advance(1e6)
				c.want.Started, c.want.Ended = true, true
				if diff := cmp.Diff(c.want, s.Client()); diff != "" {
					t.Error(diff)
				}
				if s.Upstream().Started || !s.Finished() || len(said(p.VM(), "logged")) != 1 {
					t.Errorf("upstream %+v, finished %v", s.Upstream(), s.Finished())
				}
				noFaults(t, p.VM())
			})
		}
	}
}

func TestGRPCStatusDerivedFromHTTP(t *testing.T) {
	for status, want := range map[uint32]int32{400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14, 418: 2} {
		r := LocalReply{Status: status, GRPCStatus: -1}
		if got := r.grpcStatus(); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
}

func TestDetailsHaveNoBlanks(t *testing.T) {
	if got, want := blanksReplaced("rate limited {login}\t5/10\n"), "rate_limited_{login}_5/10_"; got != want {
		t.Errorf("%q", got)
	}
}

func TestLocalReplyPassesTheResponseCallbacks(t *testing.T) {
	for moment, script := range replyMoments {
		t.Run(moment, func(t *testing.T) {
			p := start(t, Options{}, strings.ReplaceAll(script, "REPLY", "reply 429 -1 no refused x-a 1")+
				"\nresponse_headers: get 2 :status; replace 2 x-a 2\nresponse_body: buffer 1 0 9")
			s := p.Request(get(), nil)
			p.VM().Advance(1e6)
			if got := s.Client().Headers.Get("x-a"); got != "2" {
				t.Errorf("x-a %q", got)
			}
			if diff := cmp.Diff([]string{"1 0 9 = 0 no"}, said(p.VM(), "buffer ")); diff != "" {
				t.Error(diff)
			}
			if s.Details() != "refused" || s.LocalReply().Status != 429 {
				t.Errorf("%+v", s.LocalReply())
			}
		})
	}
}

// Envoy sends a reply for the stream whose callback runs once that has returned,
// after those for other streams.
func TestOwnReplyComesAfterThoseForOthers(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{})
	other := plugin(t, vm, "request_headers: answer 4\nresponse_headers: log 2 replied-other")
	own := plugin(t, vm, "request_headers: reply 429 -1; effective 3; reply 503 -1\nresponse_headers: log 2 replied-own")
	a, b := other.Request(get(), nil), own.Request(get(), nil)
	if diff := cmp.Diff([]string{"other", "own"}, said(vm, "replied-")); diff != "" {
		t.Error(diff)
	}
	if a.Status() != "503" || b.Status() != "429" {
		t.Errorf("%q %q", a.Status(), b.Status())
	}
	noFaults(t, vm)
}

func TestUploadAfterARefusalIsDropped(t *testing.T) {
	p := start(t, Options{}, "request_headers: reply 429 -1; answer 4")
	s := p.NewStream()
	s.SendHeaders(get(), false)
	s.SendBody([]byte("late"), true)
	s.Respond(ok("late"))
	s.Disconnect()
	if s.Status() != "429" || s.Upstream().Started || len(bodyCallbacks(p.VM())) != 0 {
		t.Errorf("%s, upstream %+v", s.Status(), s.Upstream())
	}
	noFaults(t, p.VM())
}

// Envoy reads every answer of a callback as stop once any reply was sent in it,
// and a reply for the root goes nowhere: then a request hangs.
func TestReplyStopsTheCallbackWhateverItIsFor(t *testing.T) {
	for _, callback := range []string{"request_headers", "request_body", "request_trailers"} {
		t.Run(callback, func(t *testing.T) {
			p := start(t, Options{}, callback+": effective root; reply 429 -1; answer 0")
			s := p.NewStream()
			s.SendHeaders(get(), false)
			s.SendBody([]byte("b"), callback == "request_body")
			s.SendTrailers(Headers{{"a", "b"}})
			if !s.Paused() || s.Upstream().Ended || s.Upstream().Trailers != nil {
				t.Errorf("paused %v, upstream %+v", s.Paused(), s.Upstream())
			}
			if got := p.VM().Faults(); len(got) != 1 || !strings.Contains(got[0], "which is no stream") {
				t.Errorf("faults %q", got)
			}
		})
	}
}

func TestFaultsNameWhatEnvoyDoesNotSurvive(t *testing.T) {
	const held = "request_headers: answer 4\nconfigure: ticks 1\n"
	for name, c := range map[string]struct{ script, want string }{
		"two replies":                     {held + "tick: effective 2; reply 429 -1; reply 503 -1", "local reply 503 for stream 2 after local reply 429"},
		"a reply while the first is held": {"request_headers: reply 429 -1; answer 4\nresponse_headers: answer 4\nconfigure: ticks 1\ntick: effective 2; reply 503 -1", "local reply 503 for stream 2 after local reply 429"},
		"reply after continue and end":    {held + "tick: effective 2; continue 0; reply 503 -1", "local reply 503 for stream 2 after continue"},
		"continue after a reply":          {held + "tick: effective 2; reply 429 -1; continue 0", "continue for stream 2 after local reply 429"},
		"two continues":                   {held + "tick: effective 2; continue 0; continue 0", "continue for stream 2 after continue"},
		"continue in the own callback":    {"request_headers: continue 0; answer 4", "from its own callback"},
		"continue after an own reply":     {"request_headers: reply 429 -1; continue 0", "continue for stream 2 after local reply 429"},
		"continue of the root":            {held + "tick: continue 0", "continue_stream for context 1, which is no stream"},
		"continue of what is not held":    {"request_headers: answer 0\nresponse_headers: answer 0\nrequest_body: answer 0\nconfigure: ticks 1\ntick: effective 2; continue 0", "which is not held"},
		"continue of a body buffered":     {"request_headers: answer 1\nrequest_body: answer 1\nconfigure: ticks 1\ntick: effective 2; continue 0", "answer 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, c.script)
			s := p.NewStream()
			if !strings.Contains(name, "not held") && !strings.Contains(name, "buffered") {
				s.RespondAtOnce(ok("hi"))
			}
			s.SendHeaders(get(), false)
			s.SendBody([]byte("b"), false)
			p.VM().Advance(1e6)
			if got := strings.Join(p.VM().Faults(), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("faults %q do not say %q", got, c.want)
			}
		})
	}
}

func TestDisconnectEndsTheContext(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 4\nlog: log 2 log\ndone: log 2 done\ndelete: log 2 delete\nconfigure: ticks 1\ntick: effective 2; continue 0")
	s := p.Request(get(), nil)
	s.Disconnect()
	s.Disconnect()
	p.VM().Advance(1e6)
	if diff := cmp.Diff([]string{"2 = 2"}, said(p.VM(), "effective ")); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"log", "done", "delete"} {
		if n := len(said(p.VM(), line)); n != 1 {
			t.Errorf("%s: %d times", line, n)
		}
	}
	if s.Upstream().Started || s.Client().Started || !s.Finished() || len(p.Streams()) != 0 {
		t.Errorf("%+v %+v", s.Upstream(), s.Client())
	}
}

func TestReplyAfterTheResponseBeganCutsIt(t *testing.T) {
	p := start(t, Options{}, "response_body: reply 500 -1")
	s := p.Request(get(), nil)
	s.Respond(ok("hello"))
	if !s.Reset() || string(s.Client().Body) != "" || s.Client().Ended {
		t.Errorf("reset %v, client %+v", s.Reset(), s.Client())
	}
}

func TestReplyInResponseHeadersTakesItsPlace(t *testing.T) {
	p := start(t, Options{}, "response_headers: reply 500 -1 own why")
	s := p.Request(get(), nil)
	s.Respond(ok("hello"))
	if s.Status() != "500" || string(s.Client().Body) != "own" || !s.Finished() {
		t.Errorf("%+v", s.Client())
	}
	noFaults(t, p.VM())
}

func TestCloseStreamCutsTheClientOff(t *testing.T) {
	p := start(t, Options{}, "request_headers: close 0; answer 4")
	s := p.Request(get(), nil)
	if !s.Reset() || s.Client().Started || !s.Finished() {
		t.Errorf("reset %v, client %+v", s.Reset(), s.Client())
	}
}
