//go:build !wasip1

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	hosttest "routelimit/host-test"
)

// injected is the module with places where it can be made to panic (inject.go).
var injected = sync.OnceValues(func() (*hosttest.Module, error) {
	dir, err := os.MkdirTemp("", "routelimit-inject")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "inject.wasm")
	const overlay = "../build/overlay/overlay.json"
	if _, err := os.Stat(overlay); err != nil {
		return nil, fmt.Errorf("%w; run make wasm", err)
	}
	build := exec.Command("go", "build", "-tags", "inject", "-overlay", overlay, "-buildmode=c-shared", "-o", path, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build with the tag inject: %w\n%s", err, out)
	}
	return compile(path)
})

// onInjected is onScript with that module.
func onInjected(t *testing.T, reply func([][]byte) []byte, configuration string) *rig {
	t.Helper()
	m, err := injected()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, clock: hosttest.NewClock(), script: &hosttest.Scripted{Reply: reply}, panics: true}
	r.start(m, hosttest.Options{}, r.script, configuration)
	return r
}

// panicsAt makes the request panic at a place of its own callbacks.
func panicsAt(s *hosttest.Stream, place string) { s.SetProperty([]byte(place), "inject") }

// wantPanics fails the test unless so many panics were recovered, counted and
// logged with their stack.
func (r *rig) wantPanics(n uint64) {
	r.t.Helper()
	r.wantCounter(n, r.counter("routelimit_panics_total"), "panics")
	if got := r.logged("injected at"); got != int(n) {
		r.t.Errorf("%d panics are logged, want %d", got, n)
	}
	if r.logged("goroutine") == 0 {
		r.t.Errorf("no stack is logged:\n%s", r.vm.LogText())
	}
}

const injectable = `{"body": {"timeout": "1s"}, "identities": {"u": {"from": "body:u"}}, "routes": {
	"POST /open":   {"identity": "u", "limit": 5, "window": "1m"},
	"POST /closed": {"identity": "u", "limit": 5, "window": "1m", "on_error": "closed"},
	"POST /shadow": {"identity": "u", "limit": 5, "window": "1m", "on_error": "closed", "shadow": true}}, "default": null}`

// A panic in the request's own callbacks, or while it is settled, goes by
// on_error. Nobody else notices.
func TestG33_ARecoveredPanicGoesByOnError(t *testing.T) {
	for _, c := range []struct {
		place string
		late  bool // the body does not come before its deadline
	}{{"headers", false}, {"body", false}, {"ask", false}, {"conclude", false}, {"conclude", true}} {
		for path, want := range map[string]string{"/open": "passed", "/closed": "503", "/shadow": "passed"} {
			t.Run(fmt.Sprint(c.place, path, " late ", c.late), func(t *testing.T) {
				r := onInjected(t, allow, injectable)
				other := r.send("POST", "/closed", `{"u":"other"}`, "content-type", jsonType)

				body := []byte(`{"u":"a"}`)
				s := r.plugin.NewStream()
				panicsAt(s, c.place)
				s.SendHeaders(hosttest.RequestHeaders("POST", "h", path, "content-type", jsonType), false)
				s.SendBody(body[:4], false)
				if c.late {
					r.deliver()
					r.clock.Advance(1010 * ms)
				} else {
					s.SendBody(body[4:], true)
				}
				r.deliver()
				r.want(want, s)
				if c.late {
					s.SendBody(body[4:], true)
				}
				if want == "passed" {
					wantUpstream(t, s, body)
					r.wantOpen(s)
				} else {
					r.wantUnavailable(s, "panic")
				}
				r.wantPanics(1)
				r.wantCounter(1, r.failures("panic"), "failures")
				r.want("passed", other, "another request that waited")
				r.want("passed", r.do("POST", "/closed", `{"u":"a"}`, "content-type", jsonType), "a later one")
				r.clock.Advance(1000 * ms)
				if r.plugin.TickPeriod() != 0 {
					t.Error("the tick goes on")
				}
			})
		}
	}
}

// Before the route of a request is known it may be one that must not pass, if there
// is such a route.
func TestG33_APanicBeforeTheRouteIsKnown(t *testing.T) {
	const metadataClosed = `{"routes": {"GET /closed": {"identity": "ip", "limit": 5, "window": "1m"}}, "default": null}`
	local := strings.Replace(openAndClosed, "closed\"}", "local\"}", 1)
	shadow := strings.Replace(openAndClosed, "closed\"}", "closed\", \"shadow\": true}", 1)
	for _, place := range []string{"route", "context"} {
		for name, c := range map[string]struct{ policy, want string }{
			"no route is closed": {metadataClosed, "passed"},
			"one is":             {openAndClosed, "503"},
			"one is local":       {local, "503"},
			"one that is shadow": {shadow, "passed"},
		} {
			t.Run(place+", "+name, func(t *testing.T) {
				r := onInjected(t, allow, c.policy)
				r.plugin.SetProperty([]byte(place), "inject")
				s := r.plugin.NewStream()
				panicsAt(s, place)
				s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/open"), true)
				r.want(c.want, s)
				r.plugin.SetProperty(nil, "inject")
				if place == "route" {
					r.wantPanics(1)
				} else if r.logged("recovered panic") == 0 {
					t.Error("nothing is logged")
				}
				if c.want == "503" {
					r.wantUnavailable(s, "panic")
					r.wantCounter(1, r.requests("unknown", "", "unavailable"), "unavailable")
				} else {
					r.wantOpen(s)
					r.wantCounter(1, r.requests("unknown", "", "open"), "open")
				}
				r.want("passed", r.get("/open"), "a later one")
			})
		}
	}
}

// A route that only Envoy's own metadata declares is closed as well, once it was seen.
func TestG33_APanicBeforeTheRouteIsKnownWhereMetadataIsClosed(t *testing.T) {
	r := onInjected(t, allow, `{"default": {"identity": "ip", "limit": 5, "window": "1m"}}`)
	closed := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limit": 5, "window": "1m", "on_error": "closed"}`})
	for i, want := range []string{"passed", "503"} {
		s := r.plugin.NewStream()
		panicsAt(s, "route")
		s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/a"), true)
		r.want(want, s, i)
		r.want("passed", r.on(closed, "/a"))
	}
	r.wantPanics(2)
}

// A request that is found to have no route passes, whatever other routes are.
func TestG33_APanicWhereThereIsNoRoute(t *testing.T) {
	r := onInjected(t, allow, openAndClosed)
	s := r.plugin.NewStream()
	panicsAt(s, "headers")
	s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/none"), true)
	r.want("passed", s)
	r.wantPanics(1)
}

// A request that could not be made known may be of any plugin of the VM: a closed
// one outranks the others.
func TestG33_APanicBeforeTheRequestIsKnown(t *testing.T) {
	r := onInjected(t, allow, `{"default": {"identity": "ip", "limit": 5, "window": "1m"}}`)
	for range 20 {
		r.configure(`{"default": {"identity": "ip", "limit": 5, "window": "1m"}}`)
	}
	r.configure(openAndClosed)
	r.plugin.SetProperty([]byte("context"), "inject")
	s := r.plugin.NewStream()
	panicsAt(s, "context")
	s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/a"), true)
	r.wantUnavailable(s, "panic")
}

// A panic in the end of a body's time, where asking fails.
func TestARecoveredPanicAtTheEndOfABodysTime(t *testing.T) {
	for path, want := range map[string]string{"/open": "passed", "/closed": "503"} {
		r := onInjected(t, allow, injectable)
		s := r.plugin.NewStream()
		panicsAt(s, "ask")
		s.SendHeaders(hosttest.RequestHeaders("POST", "h", path, "content-type", jsonType), false)
		r.clock.Advance(1010 * ms)
		r.want(want, s, path)
		r.wantPanics(1)
		s.SendBody([]byte("{}"), true)
		r.advance(100 * ms)
		r.want(want, s, path)
		r.want("passed", r.do("POST", "/closed", `{"u":"a"}`, "content-type", jsonType), "a later one")
	}
}

// A panic while a reply is taken gives up the stream: all who wait on it go by
// on_error, and the next ones get a new stream.
func TestG33_APanicInAReplyAnswersAllWhoWait(t *testing.T) {
	r := onInjected(t, allow, openAndClosed)
	var all []*hosttest.Stream
	for i := range 200 {
		all = append(all, r.send("GET", []string{"/open", "/closed"}[i%2], ""))
	}
	r.plugin.SetProperty([]byte("answer"), "inject")
	if _, err := r.script.Deliver(); err != nil {
		t.Fatal(err)
	}
	r.plugin.SetProperty(nil, "inject")
	r.clock.Advance(200 * ms)
	for i, s := range all {
		if got := fate(s); got != []string{"passed", "503"}[i%2] {
			t.Errorf("request %d: %s", i, got)
		}
	}
	r.wantPanics(1)
	r.clock.Advance(1000 * ms)
	r.want("passed", r.get("/closed"), "a later one")
}

func TestAPanicInTheMiddleOfManyRepliesAnswersAllWhoWait(t *testing.T) {
	r := onInjected(t, allow, openAndClosed)
	var all []*hosttest.Stream
	for i := range 200 {
		all = append(all, r.send("GET", []string{"/open", "/closed"}[i%2], ""))
	}
	r.script.Deliver() // the first; the others are sent now
	for range 50 {
		r.script.DeliverBytes(len(allow(r.script.Commands()[0])))
	}
	r.plugin.SetProperty([]byte("answer"), "inject")
	r.script.Deliver()
	r.plugin.SetProperty(nil, "inject")
	r.clock.Advance(200 * ms)
	for i, s := range all {
		want := []string{"passed", "503"}[i%2]
		if i <= 50 {
			want = "passed"
		}
		if got := fate(s); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
	r.wantPanics(1)
}

func TestG33_APanicInATickAnswersAllWhoWait(t *testing.T) {
	r := onInjected(t, nil, openAndClosed)
	open, closed := r.send("GET", "/open", ""), r.send("GET", "/closed", "")
	r.plugin.SetProperty([]byte("tick"), "inject")
	r.clock.Advance(6 * ms)
	r.plugin.SetProperty(nil, "inject")
	r.clock.Advance(200 * ms)
	r.want("passed", open)
	r.want("503", closed)
	if got := r.counter("routelimit_panics_total"); got == 0 {
		t.Error("no panic was counted")
	}
	r.script.Reply = allow
	r.clock.Advance(1000 * ms)
	r.want("passed", r.get("/closed"), "a later one")
}

// A panic in a response leaves the response as the upstream sent it.
func TestG33_APanicInAResponseLeavesItAlone(t *testing.T) {
	r := onInjected(t, allow, openAndClosed)
	s := r.get("/closed")
	panicsAt(s, "response")
	s.Respond(hosttest.Response{Headers: hosttest.Headers{{":status", "200"}, {"x-a", "b"}}, Body: []byte("body")})
	got := s.Client()
	if got.Headers.Get(":status") != "200" || got.Headers.Get("x-a") != "b" || string(got.Body) != "body" || !got.Ended {
		t.Errorf("the client got %v", got)
	}
	r.wantPanics(1)
}

// The module that ships cannot be made to panic so.
func TestTheShippedModuleHasNoInjectedPanics(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.plugin.SetProperty([]byte("conclude"), "inject")
	r.want("passed", r.get("/closed"))
	r.wantCounter(0, r.counter("routelimit_panics_total"), "panics")
}
