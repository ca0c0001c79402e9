//go:build !wasip1

package main_test

import (
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

func (r *rig) breaker(outcome string) uint64 {
	return r.counter("routelimit_breaker_total", "outcome", outcome)
}

// Redis stopped with its connection open, 200 requests at 50 a second to either
// kind of route, then it goes on: nobody waits for longer than the deadline, after
// a few nobody waits at all, and then the limits work again.
func TestG27_AfterAFewFailuresNobodyWaitsForASilentRedis(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.want("passed", r.get("/closed"))
	r.script.Frozen = true
	waited, refused := 0, 0
	for i := range 200 {
		path := []string{"/open", "/closed"}[i%2]
		s := r.send("GET", path, "")
		if fate(s) == "waiting" {
			waited++
			r.clock.Advance(56 * ms)
		} else {
			r.clock.Advance(20 * ms)
		}
		if want := []string{"passed", "503"}[i%2]; fate(s) != want {
			t.Fatalf("request %d to %s: %s, want %s", i, path, fate(s), want)
		}
		if fate(s) == "503" && s.Details() == "routelimit_unavailable{breaker_open}" {
			refused++
		}
	}
	if waited < 5 || waited > 20 || refused < 80 {
		t.Errorf("%d of 200 waited, and %d of 100 were refused at once", waited, refused)
	}
	r.wantCounter(1, r.breaker("opened"), "opened")
	r.wantCounter(0, r.breaker("closed"), "closed")
	if got := r.failures("breaker_open") + r.failures("timeout"); got != 200 {
		t.Errorf("%d failures are counted, want 200", got)
	}
	if n := r.logged("is not asked any more"); n != 1 {
		t.Errorf("%d lines say that it is not asked", n)
	}
	if n := len(r.vm.Logs(hosttest.LogWarn)); n > 12 {
		t.Errorf("%d lines in 4 s of outage:\n%s", n, r.vm.LogText())
	}
	if r.plugin.TickPeriod() != 0 {
		r.clock.Advance(time.Second)
	}
	if r.plugin.TickPeriod() != 0 {
		t.Error("the tick goes on with nobody waiting")
	}

	r.script.Frozen = false
	start := r.clock.Now()
	for decided := false; !decided; {
		s := r.send("GET", "/closed", "")
		r.deliver()
		decided = fate(s) == "passed"
		r.advance(10 * ms)
		if r.clock.Now().Sub(start) > 2*time.Second {
			t.Fatal("not well after 2 s")
		}
	}
	r.wantCounter(1, r.breaker("closed"), "closed")
	if r.logged("Redis answers and is asked again") != 1 {
		t.Error("no line says that it is asked again")
	}
	for range 50 {
		r.want("passed", r.get("/closed"))
	}
}

// With no way to Redis a breaker opens soon, and it costs few streams.
func TestG27_WithoutAWayToRedisTheBreakerOpens(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.script.Refuse = true
	for range 1000 {
		open, closed := r.send("GET", "/open", ""), r.send("GET", "/closed", "")
		r.clock.Advance(10 * ms)
		if fate(open) == "429" || fate(open) == "503" || fate(closed) == "passed" {
			t.Fatalf("open: %s, closed: %s", fate(open), fate(closed))
		}
	}
	r.wantCounter(1, r.breaker("opened"), "opened")
	if n := r.counter("routelimit_link_opened_total"); n > 40 {
		t.Errorf("opened %d times in 10 s", n)
	}
	r.script.Refuse = false
	for range 150 {
		r.send("GET", "/open", "")
		r.advance(10 * ms)
	}
	r.wantCounter(1, r.breaker("closed"), "closed")
	r.want("passed", r.get("/closed"))
}

// What a dashboard shows, opened less closed, must not stay above 0 when the
// configuration that does not ask is replaced.
func TestABreakerEndsWithItsConfiguration(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.script.Refuse = true
	for range 10 {
		r.send("GET", "/open", "")
		r.clock.Advance(20 * ms)
	}
	r.wantCounter(1, r.breaker("opened"), "opened")
	r.wantCounter(0, r.breaker("closed"), "closed")
	old := r.plugin
	r.plugin = r.configure(openAndClosed)
	old.Close()
	r.wantCounter(1, r.breaker("closed"), "closed")
	r.plugin.Close() // its breaker is closed
	r.wantCounter(1, r.breaker("closed"), "closed")
}

// An error reply is an answer, however many come: the keys of another node may be
// well.
func TestBreakerNeverMindsErrorReplies(t *testing.T) {
	r := onScript(t, always("-upstream failure\r\n"), openAndClosed)
	for range 100 {
		r.want("503", r.get("/closed"))
	}
	r.wantCounter(0, r.breaker("opened"), "opened")
	r.wantCounter(100, r.failures("upstream_failure"), "failures")
}

// Each worker has a breaker of its own.
func TestBreakersOfWorkersAreApart(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	second, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	other, err := second.NewPlugin([]byte(openAndClosed))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s := r.send("GET", "/closed", "")
		r.script.CloseAll(13, "")
		r.clock.Advance(20 * ms)
		r.want("503", s)
	}
	r.wantCounter(1, r.breaker("opened"), "opened")
	s := r.sendTo(other, "GET", "/closed", "")
	r.deliver()
	r.want("passed", s)
}
