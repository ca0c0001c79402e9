package bridge

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// TestRepliesComeInOrderWhateverTheyAre mixes what is answered, what Redis refuses and what the bridge refuses, and cuts the
// stream anywhere: one reply for each command, in the order of the commands.
func TestRepliesComeInOrderWhateverTheyAre(t *testing.T) {
	f := startFake(t, func(command []string) string {
		switch {
		case strings.Contains(command[3], "error"):
			return "-OOM command not allowed\r\n"
		case strings.Contains(command[3], "number"):
			return ":7\r\n"
		}
		return echo(command)
	})
	c := start(t, Store{Addrs: []string{f.addr()}}).open()
	rapid.Check(t, func(rt *rapid.T) {
		var stream []byte
		var want []string
		for i := range rapid.IntRange(1, 40).Draw(rt, "commands") {
			caller := fmt.Sprint(i)
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0, 1:
				stream, want = append(stream, decide(caller)...), append(want, keyOf(caller))
			case 2:
				stream, want = append(stream, decide("error"+caller)...), append(want, "-OOM command not allowed")
			case 3:
				stream, want = append(stream, decide("number"+caller)...), append(want, ":7")
			case 4:
				stream, want = append(stream, array("GET", caller)...), append(want, "-"+refusals[RefuseCommand].text)
			}
		}
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(rt, "cut")
			c.send(stream[:n])
			stream = stream[n:]
		}
		got, err := c.receive(len(want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			rt.Fatal(diff, err)
		}
	})
}

func TestStreamsDoNotMix(t *testing.T) {
	f := startFake(t, func(command []string) string {
		time.Sleep(rand.N(time.Millisecond)) // a server's own slowness, not the test's waiting
		return echo(command)
	})
	r := start(t, Store{Addrs: []string{f.addr()}})
	conn := r.connection()
	done := make(chan error)
	for s := range 8 {
		c := r.openOn(conn)
		go func() {
			for i := range 50 {
				caller := fmt.Sprintf("%d-%d", s, i)
				c.send(append(decide(caller), decide(caller+"b")...))
				got, err := c.receive(2)
				if err != nil || !slices.Equal(got, []string{keyOf(caller), keyOf(caller + "b")}) {
					done <- fmt.Errorf("stream %d got %q, %v", s, got, err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestTheBoundsAreKept sends more than is taken, of each kind.
func TestTheBoundsAreKept(t *testing.T) {
	t.Run("streams", func(t *testing.T) {
		f := startFake(t, echo)
		r := start(t, Store{Addrs: []string{f.addr()}}, func(o *Options) { o.MaxStreams = 2 })
		first, second := r.open(), r.openOn(r.connection())
		first.ask(decide("a"), 1)
		second.ask(decide("a"), 1)
		third := r.openOn(first.conn)
		if _, err := third.receive(1); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a third stream: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for range 2 { // with a connection each
			if _, err := r.open().receive(1); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("one more: %v", err)
			}
		}
		if _, err := healthpb.NewHealthClient(r.connection()).Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a fifth connection: %v", err)
		}
		if got := second.ask(decide("a"), 1); got[0] != keyOf("a") {
			t.Errorf("%q", got)
		}
	})
	t.Run("bytes of a message", func(t *testing.T) {
		f := startFake(t, echo)
		r := start(t, Store{Addrs: []string{f.addr()}}, func(o *Options) { o.MaxMessage = 1000 })
		c := r.open()
		c.send(make([]byte, 1001))
		if _, err := c.receive(1); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%v", err)
		}
		eventually(t, "it is counted", func() bool { return r.bridge.metrics.ends[endTooLarge].Load() == 1 })
		r.open().ask(decide("a"), 1)
	})
	t.Run("commands", func(t *testing.T) {
		f := startFake(t, echo)
		r := start(t, Store{Addrs: []string{f.addr()}}, func(o *Options) { o.MaxCommands = 3 })
		c := r.open()
		four := slices.Concat(decide("a"), decide("b"), array("PING"), decide("c"), decide("d"))
		busy := "-" + overloaded
		if diff := cmp.Diff([]string{busy, busy, "-" + refusals[RefuseCommand].text, busy, busy}, c.ask(four, 5)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{keyOf("e")}, c.ask(decide("e"), 1)); diff != "" {
			t.Error(diff)
		}
		if n := r.bridge.metrics.inFlight.Load(); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
	t.Run("a client that does not read", func(t *testing.T) {
		f := startFake(t, func(command []string) string { return "$60000\r\n" + strings.Repeat("x", 60000) + "\r\n" })
		r := start(t, Store{Addrs: []string{f.addr()}}, func(o *Options) { o.SendTimeout = 50 * time.Millisecond })
		c := r.open()
		for range 10 { // 600 kB of replies, more than HTTP/2's window
			c.send(decide("a"))
		}
		eventually(t, "the stream is ended", func() bool { return r.bridge.metrics.ends[endSlow].Load() == 1 })
		eventually(t, "its place is free", func() bool { return r.bridge.metrics.streams.Load() == 0 })
	})
}

func TestWhatIsNotRESPEndsTheStreamAndNoOther(t *testing.T) {
	f := startFake(t, echo)
	r := start(t, Store{Addrs: []string{f.addr()}})
	good := r.open()
	for _, odd := range []string{"GET / HTTP/1.1\r\n\r\n", "*1\r\n:1\r\n", "*2\r\n$1\r\na\r\nxx", "$-5\r\n"} {
		c := r.open()
		c.send([]byte(odd))
		if _, err := c.receive(1); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", odd, err)
		}
	}
	if diff := cmp.Diff([]string{keyOf("a")}, good.ask(decide("a"), 1)); diff != "" {
		t.Error(diff)
	}
	if n := r.bridge.metrics.ends[endMalformed].Load(); n != 4 {
		t.Errorf("%d counted", n)
	}
}

// TestTheEndLosesNoReply ends the bridge while Redis is thinking: the reply still comes, then the stream ends and Serve returns.
func TestTheEndLosesNoReply(t *testing.T) {
	think, thinking := make(chan struct{}), make(chan struct{})
	f := startFake(t, func(command []string) string {
		close(thinking)
		<-think
		return echo(command)
	})
	r := start(t, Store{Addrs: []string{f.addr()}})
	idle, c := r.open(), r.open()
	idle.send(nil) // so that the stream is there
	eventually(t, "two streams", func() bool { c.send(nil); return r.bridge.metrics.streams.Load() == 2 })
	c.send(decide("a"))
	<-thinking
	r.end()
	if _, err := idle.receive(1); status.Code(err) != codes.Unavailable {
		t.Errorf("an idle stream: %v", err)
	}
	if r.bridge.ready.Load() {
		t.Error("it is ready while it ends")
	}
	close(think)
	got, err := c.receive(1)
	if diff := cmp.Diff([]string{keyOf("a")}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := c.receive(1); status.Code(err) != codes.Unavailable {
		t.Errorf("after the reply: %v", err)
	}
	r.waitEnd()
	if n := r.bridge.metrics.ends[endDrained].Load(); n != 2 {
		t.Errorf("%d streams drained", n)
	}
}

// TestTheEndDoesNotWaitForEver ends it while a client reads nothing.
func TestTheEndDoesNotWaitForEver(t *testing.T) {
	f := startFake(t, func([]string) string { return "$60000\r\n" + strings.Repeat("x", 60000) + "\r\n" })
	r := start(t, Store{Addrs: []string{f.addr()}}, func(o *Options) { o.DrainTime = 50 * time.Millisecond })
	c := r.open()
	for range 10 {
		c.send(decide("a"))
	}
	eventually(t, "some are answered", func() bool { return len(f.commands()) > 2 })
	r.end()
	r.waitEnd()
}

func TestHealthFollowsRedis(t *testing.T) {
	f := startFake(t, echo)
	r := start(t, Store{Addrs: []string{f.addr()}})
	h := healthpb.NewHealthClient(r.connection())
	state := func() healthpb.HealthCheckResponse_ServingStatus {
		a, err := h.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		return a.Status
	}
	eventually(t, "ready", func() bool { return state() == healthpb.HealthCheckResponse_SERVING && r.status("/readyz") == 200 })
	f.listener.Close()
	r.bridge.asker.redis.Close() // and so every connection
	eventually(t, "not ready", func() bool { return state() == healthpb.HealthCheckResponse_NOT_SERVING && r.status("/readyz") == 503 })
	if r.status("/healthz") != 200 {
		t.Error("the process lives")
	}
	if !strings.Contains(r.logText.String(), "Redis does not answer PING") {
		t.Error("the log does not say it")
	}
}

func (r *rig) status(path string) int {
	r.t.Helper()
	a, err := http.Get(r.admin + path)
	if err != nil {
		r.t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

func TestMetricsCountEveryCommandOnce(t *testing.T) {
	f := startFake(t, func(command []string) string {
		if strings.Contains(command[3], "bad") {
			return "-READONLY You can't write against a read only replica.\r\n"
		}
		return echo(command)
	})
	r := start(t, Store{Addrs: []string{f.addr()}})
	r.open().ask(slices.Concat(decide("a"), decide("bad"), array("AUTH", "x", "hush"), decide("b")), 4)
	a, err := http.Get(r.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`routelimit_bridge_commands_total{outcome="answered",kind=""} 2`,
		`routelimit_bridge_commands_total{outcome="error",kind="readonly"} 1`,
		`routelimit_bridge_commands_total{outcome="refused",kind="command"} 1`,
		`routelimit_bridge_streams 1`,
		`routelimit_bridge_commands_in_flight 0`,
		`routelimit_bridge_redis_seconds_count 1`,
		`routelimit_bridge_redis_seconds_bucket{le="+Inf"} 1`,
	} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if strings.Contains(r.logText.String(), "hush") || strings.Contains(string(text), "hush") {
		t.Error("what a client sent is told")
	}
}
