//go:build !wasip1

package main_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	hosttest "routelimit/host-test"
	"routelimit/servers"
)

// G26: a demoted primary keeps its connections and answers READONLY for ever, so
// the stream is renewed, in either spelling, once all replies on it are in, and
// then not again before about a second.
func TestG26_ReadOnlyRenewsTheStream(t *testing.T) {
	for _, text := range []string{
		"READONLY You can't write against a read only replica.",
		"ERR Error running script (call to f_8b39): @user_script:5: @user_script: 5: -READONLY You can't write against a read only replica.",
	} {
		t.Run(text[:8], func(t *testing.T) {
			r := onScript(t, always("-"+text+"\r\n"), openAndClosed)
			opened := func() uint64 { return r.counter("routelimit_link_opened_total") }
			all := []*hosttest.Stream{r.send("GET", "/closed", "")}
			for range 3 { // travel together
				all = append(all, r.send("GET", "/closed", ""))
			}
			r.deliver()
			r.clock.Advance(5 * ms)
			r.deliver()
			for _, s := range all {
				r.wantUnavailable(s, "readonly")
			}
			r.wantCounter(2, opened(), "opened")
			for range 1000 { // for ten seconds
				r.send("GET", "/open", "")
				r.advance(10 * ms)
			}
			if n := opened(); n < 10 || n > 24 {
				t.Errorf("opened %d times in ten seconds", n)
			}
			r.wantCounter(0, r.breaker("opened"), "breaker")
			r.script.Reply = allow
			r.want("passed", r.get("/closed"))
			before := opened()
			for range 100 {
				r.want("passed", r.get("/closed"))
				r.advance(50 * ms)
			}
			r.wantCounter(before, opened(), "opened, when all is well")
		})
	}
}

// A real primary is demoted while an address that moves, as a service's does,
// leads new connections to its successor: the limits work again by themselves.
func TestG26_AFailoverOfRealServersNeedsNoRestart(t *testing.T) {
	ctx := t.Context()
	path, err := servers.NewToolbox(os.Stderr).Redis(ctx, "8.2.3")
	if err != nil {
		t.Fatal(err)
	}
	start := func() *servers.Redis {
		r, err := servers.StartRedis(ctx, servers.RedisOptions{Binary: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Stop)
		return r
	}
	primary, replica := start(), start()
	service := serve(t, primary.Addr())

	r := &rig{t: t, clock: hosttest.NewClock(), db: replica.Client()}
	r.redis = hosttest.NewRedis(service.addr(), hosttest.RedisOptions{VirtualTime: r.clock})
	t.Cleanup(r.redis.Close)
	r.start(nil, hosttest.Options{}, r.redis, openAndClosed)
	r.want("passed", r.get("/closed"))

	// The demoted one stays, and says to whoever stays with it that it is a replica.
	host, port, _ := net.SplitHostPort(replica.Addr())
	if err := primary.Client().Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	service.leadTo(replica.Addr())
	r.wantUnavailable(r.get("/closed"), "readonly")
	r.clock.Advance(10 * ms)
	r.want("passed", r.get("/closed"), "on a new stream")
	if got := r.count("rl:{GET:/closed|ip:203.0.113.7}", "w60"); got != 1 {
		t.Errorf("the new primary counts %d, want 1", got)
	}
	r.wantCounter(1, r.failures("readonly"), "readonly")
}

// service is an address that leads new connections to one server or another.
type service struct {
	listener net.Listener
	mutex    sync.Mutex
	target   string
}

func serve(t *testing.T, target string) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &service{listener: listener, target: target}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go s.connect(in)
		}
	}()
	return s
}

func (s *service) addr() string { return s.listener.Addr().String() }

func (s *service) leadTo(target string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.target = target
}

func (s *service) connect(in net.Conn) {
	defer in.Close()
	s.mutex.Lock()
	target := s.target
	s.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer out.Close()
	go io.Copy(out, in)
	io.Copy(in, out)
}

// G22: a server that cannot run the script does not get better with time, so open
// routes must not pass everything for ever: they answer 503 as well.
func TestG22_AServerThatCannotRunTheScriptClosesEveryRoute(t *testing.T) {
	for _, text := range []string{"ERR Write commands not allowed after non deterministic commands", "ERR unknown command 'EVALSHA'"} {
		r := onScript(t, always("-"+text+"\r\n"), `{"routes": {
			"GET /open":   {"identity": "ip", "limit": 5, "window": "1m"},
			"GET /local":  {"identity": "ip", "limit": 5, "window": "1m", "on_error": "local"},
			"GET /closed": {"identity": "ip", "limit": 5, "window": "1m", "on_error": "closed"},
			"GET /shadow": {"identity": "ip", "limit": 5, "window": "1m", "shadow": true}}, "default": null}`)
		for _, path := range []string{"/open", "/local", "/closed"} {
			r.wantUnavailable(r.get(path), "unsupported")
		}
		r.want("passed", r.get("/shadow"), "shadow limits refuse nobody")
		r.wantCounter(4, r.failures("unsupported"), "unsupported")
		if r.logged("no decision: unsupported") != 1 {
			t.Errorf("log:\n%s", r.vm.LogText())
		}
		r.script.Reply = allow
		r.want("passed", r.get("/open"), "on a server that can")
	}
}

// One key of two is on such a server: the failure of the other does not hide it.
func TestG22_UnsupportedOutranksOtherFailures(t *testing.T) {
	for _, unsupported := range []string{userKey, allKey} {
		r := onScript(t, func(c [][]byte) []byte {
			if keyOf(c) == unsupported {
				return []byte("-ERR unknown command 'EVALSHA'\r\n")
			}
			return []byte("-LOADING\r\n")
		}, pairAndAccount("open", "5", "5"))
		r.wantUnavailable(r.get("/a", "x-user", "u"), "unsupported")
	}
}

// What is still to be given back when a configuration is replaced is sent before
// its stream ends.
func TestRefundsThatWaitWhenAConfigurationEnds(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte { return verdict(c, keyOf(c) == allKey || isRefund(c)) }, pairAndAccount("open", "5", "5"))
	first := r.send("GET", "/a", "", "x-user", "u")
	second := r.send("GET", "/a", "", "x-user", "v") // in the next message
	if _, err := r.script.Deliver(); err != nil {
		t.Fatal(err)
	}
	r.want("429", first) // and its refund waits behind the second's question
	r.want("waiting", second)
	refunds := func() (n int) {
		for _, c := range r.script.Commands() {
			if isRefund(c) {
				n++
			}
		}
		return n
	}
	if refunds() != 0 {
		t.Fatal("the refund does not wait")
	}
	r.plugin.Close()
	if got := refunds(); got != 1 {
		t.Errorf("%d refunds were sent, want the one that waited", got)
	}
	if got := len(r.script.Streams()); got != 0 {
		t.Errorf("%d streams are open", got)
	}
	r.wantCounter(1, r.counter("routelimit_refunds_total", "outcome", "lost"), "refunds of which nobody heard")
}
