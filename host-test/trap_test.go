package hosttest

import (
	"strings"
	"testing"
	"time"
)

func TestTrapAnswersItsOwnStreamAndLeavesOthersHanging(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 4\nlog: log 2 logged")
	waiting := p.Request(get(), nil)
	p2 := plugin(t, p.VM(), "request_headers: answer 1\nrequest_body: trap\nlog: log 2 logged")
	trapping := p2.Request(get(), []byte("boom"))
	vm := p.VM()
	if vm.Dead() == nil || !strings.Contains(vm.Dead().Error(), "proxy_on_request_body failed") {
		t.Fatalf("dead: %v", vm.Dead())
	}
	if trapping.Status() != "503" || trapping.Details() != "wasm_fail_stream" || trapping.Upstream().Started {
		t.Errorf("the stream that trapped: %s %s, upstream %+v", trapping.Status(), trapping.Details(), trapping.Upstream())
	}
	if !waiting.Hanging() || waiting.Client().Started {
		t.Errorf("the waiting stream: hanging %v, client %+v", waiting.Hanging(), waiting.Client())
	}
	if next := p2.Request(get(), nil); next.Status() != "503" || next.Upstream().Started {
		t.Errorf("the next stream: %s", next.Status())
	}
	before := len(said(vm, "logged"))
	vm.Advance(time.Minute)
	waiting.Disconnect()
	if len(said(vm, "logged")) != before || !waiting.Finished() || waiting.Hanging() {
		t.Error("the dead VM was entered, or the stream still hangs")
	}
	if got := vm.LogText(); !strings.Contains(got, "critical Function: proxy_on_request_body failed") {
		t.Errorf("the log has no line of the trap:\n%s", got)
	}
}

func TestTrapInTheResponseGives503(t *testing.T) {
	p := start(t, Options{}, "response_headers: trap")
	s := p.Request(get(), nil)
	s.Respond(ok("hello"))
	if s.Status() != "503" || !s.Finished() || len(s.Client().Body) != 0 {
		t.Errorf("%+v", s.Client())
	}
}

func TestTrapInTheResponseBodyCutsTheStream(t *testing.T) {
	p := start(t, Options{}, "response_body: trap")
	s := p.Request(get(), nil)
	s.Respond(ok("hello"))
	if s.Status() != "200" || !s.Reset() || s.Client().Ended {
		t.Errorf("reset %v, %+v", s.Reset(), s.Client())
	}
}

func TestTrapWhileConfiguringIsAnError(t *testing.T) {
	vm := startVM(t, overlaidGuest, Options{})
	if _, err := vm.NewPlugin([]byte("configure: trap")); err == nil || !strings.Contains(err.Error(), "proxy_on_configure failed") {
		t.Errorf("error %v", err)
	}
	if _, err := vm.NewPlugin(nil); err == nil {
		t.Error("a dead VM made a root")
	}
}

func TestReloadMakesTheRootsAgain(t *testing.T) {
	p := start(t, Options{}, "configure: define 0 loads; increment loads 1; ticks 1000\ntick: trap\nrequest_headers: answer 4")
	vm := p.VM()
	if err := vm.Reload(); err == nil {
		t.Error("a VM that lives was reloaded")
	}
	hung := p.Request(get(), nil)
	vm.Advance(time.Second)
	if vm.Dead() == nil {
		t.Fatal("no trap")
	}
	if err := vm.Reload(); err != nil {
		t.Fatal(err)
	}
	s := p.Request(get(), nil)
	if !s.Paused() || s.Hanging() || !hung.Hanging() {
		t.Errorf("new: paused %v, hanging %v; old: hanging %v", s.Paused(), s.Hanging(), hung.Hanging())
	}
	if got := len(vm.Host().Clock().ticks); got != 1 {
		t.Errorf("%d ticks run, want the new root's", got)
	}
	if got := vm.Host().Counter("loads"); got != 2 {
		t.Errorf("the counter is %d, want 2: it outlives the VM", got)
	}
	hung.Disconnect()
	noFaults(t, vm)
}

func TestFailReloadComesWithTheNextStreamAfterASecond(t *testing.T) {
	p := start(t, Options{FailReload: true}, "request_headers: answer 0\nrequest_body: trap")
	vm := p.VM()
	vm.Advance(time.Minute)
	die := func() { p.Request(get(), []byte("boom")) }
	die()
	if s := p.Request(get(), nil); !s.Upstream().Ended || vm.Dead() != nil {
		t.Fatalf("not reloaded: %v", vm.Dead())
	}
	die()
	if s := p.Request(get(), nil); s.Status() != "503" {
		t.Errorf("reloaded within a second: %q", s.Status())
	}
	vm.Advance(reloadBackoff)
	if s := p.Request(get(), nil); !s.Upstream().Ended {
		t.Errorf("not reloaded after a second: %q", s.Status())
	}
}

// Each stream that a callback resumes is finished inside the VM call that
// finished the one before, so too many in one callback overflow the stack.
func TestNestedResumesBeyondTheBoundKillTheVM(t *testing.T) {
	for name, c := range map[string]struct {
		do      string
		streams int
		dead    bool
	}{
		"continues at the bound":     {"all continue", 250, false},
		"continues beyond the bound": {"all continue", 251, true},
		"replies at the bound":       {"all reply 429", 250, false},
		"replies beyond the bound":   {"all reply 429", 251, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, "request_headers: answer 4\nconfigure: ticks 1\ntick: ticks 0; "+c.do)
			var streams []*Stream
			for range c.streams {
				s := p.NewStream()
				s.RespondAtOnce(ok("hi"))
				s.SendHeaders(get(), true)
				streams = append(streams, s)
			}
			p.VM().Advance(time.Millisecond)
			if dead := p.VM().Dead(); (dead != nil) != c.dead {
				t.Errorf("dead: %v", dead)
			}
			if c.dead && !strings.Contains(p.VM().Dead().Error(), "Maximum call stack size exceeded") {
				t.Errorf("dead: %v", p.VM().Dead())
			}
			for i, s := range streams {
				if !s.Finished() {
					t.Fatalf("stream %d of %d has not ended", i, len(streams))
				}
			}
		})
	}
}

func TestContinuesToAnUpstreamDoNotNest(t *testing.T) {
	p := start(t, Options{}, "request_headers: answer 4\nconfigure: ticks 1\ntick: ticks 0; all continue")
	for range 900 {
		p.Request(get(), nil)
	}
	p.VM().Advance(time.Millisecond)
	for _, s := range p.Streams() {
		if !s.Upstream().Ended {
			t.Fatal("not continued")
		}
	}
	noFaults(t, p.VM())
}
