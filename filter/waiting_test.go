//go:build !wasip1

package main_test

import (
	"fmt"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

func TestDeadlineIs50msFromTheAsking(t *testing.T) {
	for name, c := range map[string]struct {
		section string
		waits   time.Duration // still waiting then
		ends    time.Duration // settled then
	}{
		"50 ms if not set": {"", 49 * ms, 56 * ms},
		"as set":           {`"redis": {"timeout": "20ms"},`, 19 * ms, 26 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, nil, `{`+c.section+openAndClosed[1:])
			r.clock.Advance(time.Hour)
			s := r.send("GET", "/closed", "")
			r.clock.Advance(c.waits)
			r.want("waiting", s)
			r.clock.Advance(c.ends - c.waits)
			r.wantUnavailable(s, "timeout")
		})
	}
}

// The deadline is the request's own: those that asked earlier do not shorten it.
func TestDeadlinesOfRequestsThatAskAtDifferentTimes(t *testing.T) {
	r := onScript(t, nil, openAndClosed)
	first := r.send("GET", "/closed", "")
	r.clock.Advance(30 * ms)
	second := r.send("GET", "/closed", "")
	r.clock.Advance(26 * ms)
	r.wantUnavailable(first, "timeout")
	r.want("waiting", second)
	r.clock.Advance(25 * ms)
	r.wantUnavailable(second, "timeout")
}

func TestALateReplyThatAllowedIsRefundedAfterA503(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	refused := r.send("GET", "/closed", "")
	passed := r.send("GET", "/open", "") // waits in the queue, and is not sent any more
	r.clock.Advance(60 * ms)
	r.wantUnavailable(refused, "timeout")
	r.wantOpen(passed)
	r.deliver()
	commands := r.script.Commands()
	if len(commands) != 2 || !isRefund(commands[1]) || keyOf(commands[1]) != keyOf(commands[0]) {
		t.Fatalf("%d commands %q, want the decision and its refund", len(commands), commands)
	}
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds made")
	if fate(refused) != "503" || r.plugin.TickPeriod() != 0 {
		t.Errorf("%s, tick %s", fate(refused), r.plugin.TickPeriod())
	}
}

func TestALateReplyIsKeptWhereTheRequestPassed(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	s := r.send("GET", "/open", "")
	r.clock.Advance(60 * ms)
	r.wantOpen(s)
	r.deliver()
	if got := len(r.script.Commands()); got != 1 {
		t.Errorf("%d commands, want no refund", got)
	}
	r.want("passed", r.get("/closed"))
}

// A limit that counts failed logins only must not keep a success, because Redis was
// slow to say that it had charged it: neither where its answer comes before the
// response, nor after it.
func TestALateReplyIsRefundedWhereTheStatusDoesNotCount(t *testing.T) {
	const policy = `{"routes": {"GET /a": {"identity": "ip", "limit": 5, "window": "1h", "count": [401]},
		"GET /first": {"identity": "ip", "limit": 5, "window": "1h"}}, "default": null}`
	for name, responseFirst := range map[string]bool{"the reply first": false, "the response first": true} {
		for status, kept := range map[string]int64{"200": 0, "401": 1} {
			t.Run(name+", "+status, func(t *testing.T) {
				r := onRedis(t, policy)
				r.want("passed", r.get("/first")) // Redis knows the script from here on
				s := r.send("GET", "/a", "")
				r.clock.Advance(60 * ms)
				if got := fate(s); got != "passed" {
					t.Fatalf("%s at the deadline, want passed", got)
				}
				if responseFirst {
					respond(s, status)
					r.deliver()
				} else {
					r.deliver()
					respond(s, status)
				}
				r.deliver()
				if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w3600"); int64(got) != kept {
					t.Errorf("%d counted, want %d", got, kept)
				}
			})
		}
	}
}

func TestALateRefusalIsNotRefunded(t *testing.T) {
	r := onScript(t, refuse, openAndClosed)
	s := r.send("GET", "/closed", "")
	r.clock.Advance(60 * ms)
	r.deliver()
	r.wantUnavailable(s, "timeout")
	if got := len(r.script.Commands()); got != 1 {
		t.Errorf("%d commands, want no refund", got)
	}
}

// A frozen Redis that goes on charges what it is asked; all of it comes back.
func TestALateReplyIsRefundedOnARealRedis(t *testing.T) {
	r := onRedis(t, openAndClosed)
	r.want("passed", r.get("/open")) // Redis knows the script from here on
	s := r.send("GET", "/closed", "")
	r.clock.Advance(60 * ms)
	r.wantUnavailable(s, "timeout")
	r.deliver()
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "made"), "refunds made")
	if got := r.count("rl:{GET:/closed|ip:203.0.113.7}", "w60"); got != 0 {
		t.Errorf("%d count, want 0", got)
	}
}

// One key of two does not answer: closed gives back what the other charged, open keeps it.
func TestAFailureBesideAnAnswer(t *testing.T) {
	for onError, c := range map[string]struct {
		fate    string
		refunds int
	}{"closed": {"503", 1}, "open": {"passed", 0}} {
		t.Run(onError, func(t *testing.T) {
			r := onScript(t, func(c [][]byte) []byte {
				if keyOf(c) == allKey {
					return []byte("-CLUSTERDOWN Hash slot not served\r\n")
				}
				return allow(c)
			}, pairAndAccount(onError, "5", "5"))
			s := r.get("/a", "x-user", "u")
			r.want(c.fate, s)
			refunds := 0
			for _, command := range r.script.Commands() {
				if isRefund(command) {
					refunds++
				}
			}
			if refunds != c.refunds {
				t.Errorf("%d refunds, want %d", refunds, c.refunds)
			}
			r.wantCounter(1, r.failures("clusterdown"), "clusterdown")
		})
	}
}

// A refusal is known even if another key failed.
func TestARefusalBesideAFailure(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte {
		if keyOf(c) == allKey {
			return []byte("-CLUSTERDOWN Hash slot not served\r\n")
		}
		return refuse(c)
	}, pairAndAccount("open", "5", "5"))
	s := r.get("/a", "x-user", "u")
	r.want("429", s)
	if got := s.FilterState()["wasm.routelimit.limit"]; got != "user" {
		t.Errorf("filter state names %q, want user", got)
	}
}

func TestG35_TheClientIsGoneBeforeTheAnswer(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	sent, queued := r.send("GET", "/open", ""), r.send("GET", "/closed", "")
	stays := r.send("GET", "/closed", "")
	sent.Disconnect()
	queued.Disconnect()
	r.clock.Advance(20 * ms)
	r.deliver()
	r.want("passed", stays)
	if got := len(r.script.Commands()); got != 2 {
		t.Errorf("%d commands, want 2: what was not sent yet is not asked any more", got)
	}
	if sent.LocalReply() != nil || sent.Upstream().Started {
		t.Error("a client that has gone was answered")
	}
}

func TestG35_TheClientIsGoneAtTheSameTickAsTheDeadline(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	s := r.send("GET", "/closed", "")
	r.clock.Advance(54 * ms)
	s.Disconnect()
	r.clock.Advance(2 * ms)
	r.deliver()
	late := r.send("GET", "/closed", "")
	r.clock.Advance(56 * ms) // the reply and the deadline in one moment
	r.deliver()
	r.wantUnavailable(late, "timeout")
}

// wantMemory fails the test if the VM's memory has grown by more than what the
// heap's fragments come to. 20,000 requests that stay would be 5 MB.
func (r *rig) wantMemory(before int) {
	r.t.Helper()
	if after := r.vm.MemorySize(); after > before+2<<20 {
		r.t.Errorf("memory grew from %d to %d", before, after)
	}
}

func TestG35_ManyClientsThatLeaveCostNoMemory(t *testing.T) {
	for name, policy := range map[string]string{"one key": openAndClosed, "two keys": pairAndAccount("closed", "5", "5")} {
		t.Run(name, func(t *testing.T) {
			path := map[string]string{"one key": "/open", "two keys": "/a"}[name]
			r := onScript(t, allow, policy)
			leave := func(n int) {
				for i := range n {
					r.send("GET", path, "", "x-user", "u").Disconnect()
					if i%100 == 99 {
						r.clock.Advance(10 * ms)
						r.deliver()
					}
				}
			}
			leave(20_000)
			before := r.vm.MemorySize()
			leave(20_000)
			r.wantMemory(before)
			r.advance(time.Second)
			r.want("passed", r.get(path, "x-user", "u"))
			if r.advance(10 * ms); r.plugin.TickPeriod() != 0 {
				t.Error("the tick goes on with nobody waiting")
			}
		})
	}
}

// The same while Redis says nothing at all.
func TestG35_ManyClientsThatLeaveASilentRedisCostNoMemory(t *testing.T) {
	r := onScript(t, nil, openAndClosed)
	leave := func(n int) {
		for i := range n {
			r.send("GET", "/closed", "").Disconnect()
			if i%50 == 49 {
				r.clock.Advance(10 * ms)
			}
		}
	}
	leave(20_000)
	before := r.vm.MemorySize()
	leave(20_000)
	r.wantMemory(before)
}

func TestReconnectsWithBackOff(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.want("passed", r.get("/closed"))
	r.script.Refuse = true
	if err := r.script.CloseAll(13, ""); err != nil {
		t.Fatal(err)
	}
	opened := func() uint64 { return r.counter("routelimit_link_opened_total") }
	if opened() != 1 {
		t.Fatalf("opened %d times: a closed stream is not opened again before somebody asks", opened())
	}
	for range 1000 { // 100 requests a second for 10 s
		r.send("GET", "/open", "")
		r.clock.Advance(10 * ms)
	}
	if n := opened(); n < 10 || n > 60 {
		t.Errorf("opened %d times in 10 s of outage", n)
	}
	r.script.Refuse = false
	for range 100 { // a second, in which what still waits may open the stream, and then is answered
		r.advance(10 * ms)
	}
	r.want("passed", r.get("/closed"), "within seconds of the recovery")
}

// During the back-off a request does not wait for its deadline in vain.
func TestG27_RequestsDoNotWaitWhileTheLinkIsKnownToBeDown(t *testing.T) {
	r := onScript(t, allow, unbroken(openAndClosed))
	r.script.Refuse = true
	ask := func() uint64 {
		r.send("GET", "/open", "")
		r.clock.Advance(20 * ms)
		return r.counter("routelimit_link_opened_total")
	}
	for range 100 {
		ask()
	}
	for before := ask(); ask() == before; { // until an attempt has just failed, and half a second at least is to pass
	}
	r.wantOpen(r.send("GET", "/open", "")) // at once
	r.wantUnavailable(r.send("GET", "/closed", ""), "disconnected")
}

func TestAtMost64RequestsAreLetGoInOneCallback(t *testing.T) {
	for name, settle := range map[string]func(r *rig){
		"replies":       func(r *rig) { r.deliver(); r.advance(100 * ms) },
		"deadlines":     func(r *rig) { r.script.Reply = nil; r.clock.Advance(100 * ms) },
		"closed stream": func(r *rig) { r.script.CloseAll(13, ""); r.clock.Advance(100 * ms) },
		"bad reply":     func(r *rig) { r.script.Stream().Deliver([]byte("?")); r.clock.Advance(100 * ms) },
	} {
		t.Run(name, func(t *testing.T) {
			r := onScriptWith(t, hosttest.Options{NestedResumes: 64}, allow, openAndClosed)
			var all []*hosttest.Stream
			for i := range 1500 {
				s := r.plugin.NewStream()
				s.RespondAtOnce(hosttest.Response{Headers: hosttest.Headers{{":status", "200"}}})
				s.SendHeaders(hosttest.RequestHeaders("GET", "h", []string{"/open", "/closed"}[i%2]), true)
				all = append(all, s)
			}
			settle(r)
			for i, s := range all {
				if !s.Finished() || s.Status() == "" {
					t.Fatalf("request %d of 1500: %s", i, fate(s))
				}
			}
		})
	}
}

const bodiesAndOthers = `{"body": {"timeout": "10s"}, "identities": {"u": {"from": "body:u"}}, "routes": {
	"POST /b": {"identity": "u", "limit": 5, "window": "1m"}, "GET /a": {"identity": "ip", "limit": 5, "window": "1m"}}, "default": null}`

// sendMany sends requests that their upstream answers at once; those of POST
// without their bodies.
func (r *rig) sendMany(n int, method, path string) (all []*hosttest.Stream) {
	for range n {
		s := r.plugin.NewStream()
		s.RespondAtOnce(hosttest.Response{Headers: hosttest.Headers{{":status", "200"}}})
		s.SendHeaders(hosttest.RequestHeaders(method, "h", path, "content-type", jsonType), method == "GET")
		all = append(all, s)
	}
	return all
}

// loseLink delivers what Redis complained about and ends the stream.
func (r *rig) loseLink() {
	r.t.Helper()
	r.deliver()
	if err := r.script.CloseAll(13, ""); err != nil {
		r.t.Fatal(err)
	}
}

// loseLinkUntilTheBodiesAreDue lets 9,998 ms pass in which the link breaks so
// often that it stays down for long the next time.
func (r *rig) loseLinkUntilTheBodiesAreDue() {
	r.t.Helper()
	for range 9 {
		r.sendMany(1, "GET", "/a")
		r.loseLink()
		r.clock.Advance(1100 * ms)
	}
	r.clock.Advance(98 * ms)
}

// Bodies whose time is over and answers of Redis share one callback's budget.
func TestAtMost64RequestsAreLetGoInOneTickWithBodies(t *testing.T) {
	r := onScriptWith(t, hosttest.Options{NestedResumes: 64}, always("-LOADING\r\n"), bodiesAndOthers)
	all := r.sendMany(500, "POST", "/b")
	r.loseLinkUntilTheBodiesAreDue()
	all = append(all, r.sendMany(1000, "GET", "/a")...)
	r.loseLink()
	r.clock.Advance(200 * ms)
	for i, s := range all {
		if s.Status() != "200" {
			t.Fatalf("request %d of %d: %s", i, len(all), fate(s))
		}
	}
	r.wantCounter(500, r.requests("POST:/b", "", "open"), "bodies settled without the link")
}

// Many bodies that are due at once do not wait 20 ms for each 64 of them.
func TestManyOverdueBodiesAreSettledSoon(t *testing.T) {
	r := onScript(t, always("-LOADING\r\n"), bodiesAndOthers)
	all := r.sendMany(2000, "POST", "/b")
	r.loseLinkUntilTheBodiesAreDue()
	r.sendMany(1, "GET", "/a")
	r.loseLink()
	r.clock.Advance(100 * ms)
	for i, s := range all {
		if s.Status() != "200" {
			t.Fatalf("request %d of %d: %s", i, len(all), fate(s))
		}
	}
}

func TestG27_20000WaitingRequestsAreAllAnswered(t *testing.T) {
	r := onScript(t, nil, openAndClosed)
	var all []*hosttest.Stream
	for i := range 20_000 {
		all = append(all, r.send("GET", []string{"/open", "/closed"}[i%2], ""))
	}
	r.wantCounter(20_000-1-16384, r.failures("overload"), "overload") // one is sent, 16384 may wait
	r.clock.Advance(time.Second)
	for i, s := range all {
		if got := fate(s); got != []string{"passed", "503"}[i%2] {
			t.Fatalf("request %d: %s", i, got)
		}
	}
	if got := r.script.Streams(); len(got) > 0 && got[0].Messages() > 10 {
		t.Errorf("%d messages for one deadline's requests", got[0].Messages())
	}
	if got := len(r.script.Commands()); got > 100 {
		t.Errorf("%d commands were sent to a Redis that does not answer", got)
	}
}

func TestManyDecisionsTravelInOneMessage(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	for range 100 {
		r.send("GET", "/open", "")
	}
	r.deliver()
	if got := r.host.Histogram("routelimit_batch_commands"); len(got) != 2 || got[0] != 1 || got[1] != 99 {
		t.Errorf("batches %v, want 1 and 99", got)
	}
	if got := r.script.Stream().Messages(); got != 2 {
		t.Errorf("%d messages, want 2", got)
	}
}

func TestTheTickIsOffWhenNothingWaits(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	if r.plugin.TickPeriod() != 0 {
		t.Error("a tick before the first request")
	}
	s := r.send("GET", "/open", "")
	if r.plugin.TickPeriod() == 0 {
		t.Error("no tick while a request waits")
	}
	r.deliver()
	r.want("passed", s)
	r.clock.Advance(10 * ms)
	before := r.vm.Calls("proxy_set_tick_period_milliseconds")
	if r.plugin.TickPeriod() != 0 {
		t.Error("the tick goes on")
	}
	r.clock.Advance(time.Hour)
	if after := r.vm.Calls("proxy_set_tick_period_milliseconds"); after != before {
		t.Error("the filter runs while nothing happens")
	}
}

// An update makes a second root in the same VM; each has its own link and state.
func TestOldAndNewConfigurationServeSideBySide(t *testing.T) {
	r := onScript(t, nil, asking(openAndClosed))
	old := r.plugin
	fresh := r.configure(asking(openAndClosed))
	waiting := []*hosttest.Stream{r.sendTo(old, "GET", "/closed", ""), r.sendTo(fresh, "GET", "/closed", ""), r.sendTo(old, "GET", "/open", "")}
	streams := r.script.Streams()
	if len(streams) != 2 || streams[0].Plugin() != old || streams[1].Plugin() != fresh {
		t.Fatalf("%d streams, want one for each root", len(streams))
	}

	// The old one's stream breaks; the new one's request does not notice.
	if err := streams[0].CloseRemote(13, ""); err != nil {
		t.Fatal(err)
	}
	r.wantUnavailable(waiting[0], "disconnected")
	r.want("waiting", waiting[1])
	if err := streams[1].Deliver(packed(1, scriptedTimeMS, 1, 4, 1000, 0)); err != nil {
		t.Fatal(err)
	}
	r.want("passed", waiting[1])
	r.clock.Advance(60 * ms)
	r.want("passed", waiting[2])

	// A reply that says no, for a request of the old root while the new one asks too.
	r.clock.Advance(time.Second)
	r.script.Reply = refuse
	a, b := r.sendTo(old, "GET", "/open", ""), r.sendTo(fresh, "GET", "/open", "")
	r.deliver()
	r.want("429", a)
	r.want("429", b)

	// The old root ends; the new one goes on.
	last := r.sendTo(old, "GET", "/open", "")
	old.Close()
	if last.LocalReply() != nil || len(r.script.Streams()) != 1 {
		t.Errorf("%d streams after the old root's end", len(r.script.Streams()))
	}
	r.clock.Advance(time.Second)
	r.script.Reply = allow
	s := r.sendTo(fresh, "GET", "/closed", "")
	r.deliver()
	r.want("passed", s)
	r.clock.Advance(10 * ms)
	if fresh.TickPeriod() != 0 {
		t.Error("the new root's tick goes on")
	}
}

func TestTwoWorkersShareCountsAndNothingElse(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 5, "window": "1m"`))
	second, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	other, err := second.NewPlugin([]byte(oneLimit(`"limit": 5, "window": "1m"`)))
	if err != nil {
		t.Fatal(err)
	}
	var all []*hosttest.Stream
	for i := range 20 {
		all = append(all, r.sendTo([]*hosttest.Plugin{r.plugin, other}[i%2], "GET", "/a", ""))
	}
	r.deliver()
	fates := map[string]int{}
	for _, s := range all {
		fates[fate(s)]++
	}
	if fmt.Sprint(fates) != "map[429:15 passed:5]" {
		t.Errorf("fates %v, want 5 of 20 passed", fates)
	}
}
