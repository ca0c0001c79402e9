package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// Answers come at the deadline of 50 ms while Redis is silent. On a busy machine one of them may come much later, but not
// as late as Redis, which is silent until the test ends its silence; and not all of them.
const (
	slowestAnswer = 10 * time.Second
	fastestAnswer = 200 * time.Millisecond
)

// checkInTime looks at how long answers took without Redis.
func checkInTime(t *testing.T, answers ...answer) {
	t.Helper()
	fastest := slowestAnswer
	for _, a := range answers {
		fastest = min(fastest, a.took)
		if a.took > slowestAnswer {
			t.Errorf("answered after %v", a.took)
		}
	}
	if fastest > fastestAnswer {
		t.Errorf("the fastest of %d answers took %v: that was not the deadline of 50 ms", len(answers), fastest)
	}
}

// checkUnavailable finds everything that a closed route says while Redis does not decide.
func checkUnavailable(t *testing.T, a answer) {
	t.Helper()
	if a.status != http.StatusServiceUnavailable || a.number("retry-after") != 5 ||
		a.body != `{"error":"rate_limiter_unavailable"}` || a.header.Get("cache-control") != "no-store" ||
		a.header.Get("content-type") != "application/json" || a.header.Get("x-ratelimit-limit") != "" {
		t.Errorf("status %d, headers %v, body %q", a.status, a.header, a.body)
	}
}

const (
	passedOpen       = `routelimit_requests_total{route="GET:/api/search",limit="",outcome="open"}`
	closedLogin      = `routelimit_requests_total{route="POST:/login",limit="",outcome="unavailable"}`
	upstreamFailures = `routelimit_failures_total{kind="upstream_failure"}`
	scriptResent     = `routelimit_script_resent_total{}`

	cutWhileAsked = "cluster.patient_redis.upstream_cx_destroy_remote_with_active_rq"
)

// outage is what one kind of outage does to 100 requests of a closed route and as many of an open one, on the shipped
// listener.
func outage(t *testing.T, e *servers.Envoy, at *place) {
	t.Helper()
	open := total(t, e, passedOpen)
	closed := total(t, e, closedLogin)
	upstream.get(t).Reset()
	clients := []*client{dial(t, e, at, ""), dial(t, e, at, "")}
	closedAnswers := parallel(t, clients, 50, func(c *client) (answer, error) { return c.try("POST", "/login", `{"username":"hush-a"}`) })
	for _, a := range closedAnswers {
		checkUnavailable(t, a)
	}
	openAnswers := parallel(t, clients, 50, func(c *client) (answer, error) { return c.try("GET", "/api/search", "") })
	for _, a := range openAnswers {
		if a.status != http.StatusOK {
			t.Errorf("an open route: status %d %s", a.status, a.body)
		}
	}
	checkInTime(t, closedAnswers...)
	checkInTime(t, openAnswers...)
	if n := upstream.get(t).Started(); n != 100 {
		t.Errorf("the upstream saw %d requests, want the 100 of the open route", n)
	}
	open = total(t, e, passedOpen) - open
	closed = total(t, e, closedLogin) - closed
	if open != 100 || closed != 100 {
		t.Errorf("counted %d open and %d unavailable, want 100 each", open, closed)
	}
}

// recovers waits until the shipped login refuses again, which needs Redis for every decision. It passes no more than its
// limit on the way.
func recovers(t *testing.T, e *servers.Envoy, at *place, from string) {
	t.Helper()
	c := dial(t, e, at, from)
	passed := 0
	eventually(t, "the limits work again", func() error {
		a := c.login("hush-" + from)
		if a.status == http.StatusOK {
			passed++
		}
		if a.status != http.StatusTooManyRequests {
			return fmt.Errorf("status %d %s", a.status, a.body)
		}
		return nil
	})
	if passed > 10 {
		t.Errorf("%d passed, want 10 at most", passed)
	}
	for _, path := range []string{"/api/search", "/other"} {
		eventually(t, path+" is decided again", func() error {
			if a := c.get(path); a.number("x-ratelimit-limit") == -1 {
				return fmt.Errorf("headers %v", a.header)
			}
			return nil
		})
	}
}

// logged counts the lines that were added to an Envoy's log since it had a length.
func logged(e *servers.Envoy, since int, text string) int {
	return strings.Count(e.Log()[since:], text)
}

func TestG27SilentRedisHoldsNobodyUp(t *testing.T) {
	eachWay(t, silentRedisHoldsNobodyUp)
}

func silentRedisHoldsNobodyUp(t *testing.T, w way) {
	e := fresh(t)
	recovers(t, e, w.public, "127.0.3.1")
	before := len(e.Log())
	resume := pause(t)
	outage(t, e, w.public)
	// Each kind once in ten seconds in each worker, whatever the load.
	if n := logged(e, before, "routelimit: "); n == 0 || n > 60 {
		t.Errorf("%d log lines about 200 requests, want a few", n)
	}
	// Perhaps by the test before, if that was less than ten seconds ago.
	if n := logged(e, 0, "fail closed"); n == 0 {
		t.Error("no log line says that the login fails closed")
	}
	resume()
	recovers(t, e, w.public, "127.0.3.2")
}

func TestG27DeadRedisAndOneThatStartsEmpty(t *testing.T) {
	eachWay(t, deadRedisAndOneThatStartsEmpty)
}

func deadRedisAndOneThatStartsEmpty(t *testing.T, w way) {
	e := fresh(t)
	recovers(t, e, w.public, "127.0.3.3")
	restart := kill(t)
	outage(t, e, w.public)
	restart()
	resent := total(t, e, scriptResent)
	recovers(t, e, w.public, "127.0.3.3")                          // its count is lost with Redis' memory
	if w.public == public && total(t, e, scriptResent) == resent { // a bridge sends it by itself
		t.Error("no script was sent to the new server, though it knew none")
	}
}

// TestRedisConnectionKilledWhileItIsAsked cuts the connection on which a decision is awaited.
func TestRedisConnectionKilledWhileItIsAsked(t *testing.T) {
	e := fresh(t)
	r := store.get(t).Client()
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"POST", "/login", http.StatusServiceUnavailable},
		{"GET", "/api/search", http.StatusOK},
	} {
		failures, cut := total(t, e, upstreamFailures), stat(t, e, cutWhileAsked)
		c := dial(t, e, journey, "127.0.3.4")
		if err := r.Do(t.Context(), "CLIENT", "PAUSE", 60000, "WRITE").Err(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Do(context.Background(), "CLIENT", "UNPAUSE") })
		answered := make(chan answer)
		go func() {
			a, err := c.try(tt.method, tt.path, `{"username":"hush-b"}`)
			if err != nil {
				t.Error(err)
			}
			answered <- a
		}()
		eventually(t, "Redis is asked", func() error {
			if blocked, err := r.Info(t.Context(), "clients").Result(); err != nil || !strings.Contains(blocked, "blocked_clients:1") {
				return fmt.Errorf("%v %s", err, blocked)
			}
			return nil
		})
		if n, err := r.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Result(); err != nil || n == 0 {
			t.Fatalf("cut %d connections, %v", n, err)
		}
		a := <-answered
		if a.status != tt.want {
			t.Errorf("%s: status %d %s, want %d", tt.path, a.status, a.body, tt.want)
		}
		if tt.want == http.StatusServiceUnavailable {
			checkUnavailable(t, a)
		}
		if stat(t, e, cutWhileAsked) == cut {
			t.Error("Envoy had no command on its way when the connection was cut")
		}
		if total(t, e, upstreamFailures) == failures {
			t.Error("no failure was counted")
		}
		if err := r.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
			t.Fatal(err)
		}
		checkPassed(t, c.login("hush-"+tt.method), 10, 9)
	}
}

// TestRedisConnectionsKilledUnderLoad cuts the connections again and again. What was being decided goes by the route's
// on_error; everything else is decided.
func TestRedisConnectionsKilledUnderLoad(t *testing.T) {
	e := fresh(t)
	recovers(t, e, public, "127.0.3.5")
	var clients []*client
	for i := range 8 {
		clients = append(clients, dial(t, e, public, fmt.Sprintf("127.0.4.%d", i+1)))
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() { stopped <- killConnections(store.get(t).Client(), stop) }()
	answers := parallel(t, clients, 100, func(c *client) (answer, error) {
		if c == clients[0] {
			return c.try("POST", "/login", `{"username":"hush-b"}`)
		}
		return c.try("GET", "/api/search", "")
	})
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	checkInTime(t, answers...)
	decided := 0
	for _, a := range answers {
		switch {
		case a.status == http.StatusServiceUnavailable:
			checkUnavailable(t, a)
		case a.status == http.StatusOK && a.number("x-ratelimit-limit") == -1: // the upstream's own: passed open
		case a.status == http.StatusOK || a.status == http.StatusTooManyRequests:
			decided++
		default:
			t.Errorf("status %d %s", a.status, a.body)
		}
	}
	t.Logf("%d of %d were decided", decided, len(answers))
	if decided == 0 {
		t.Error("nothing was decided between two cuts")
	}
	recovers(t, e, public, "127.0.3.6")
}

// killConnections cuts all connections to a server but its own, every few milliseconds.
func killConnections(r *redis.Client, stop <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	cut := int64(0)
	for {
		n, err := r.ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes").Result()
		if err != nil {
			return err
		}
		cut += n
		select {
		case <-tick.C:
		case <-stop:
			if cut == 0 {
				return errors.New("there was no connection to cut")
			}
			return nil
		}
	}
}

// TestG23ScriptsForgottenUnderLoad flushes Redis' scripts again and again: every request is decided all the same, and
// counted once.
func TestG23ScriptsForgottenUnderLoad(t *testing.T) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	resent := total(t, e, scriptResent)
	var clients []*client
	for range 20 {
		clients = append(clients, dial(t, e, exact, ""))
	}
	answers := parallel(t, clients, 5, func(c *client) (answer, error) {
		if err := store.get(t).Client().ScriptFlush(context.Background()).Err(); err != nil {
			return answer{}, err
		}
		return c.try("GET", "/sliding_log/60", "")
	})
	var got []int
	for _, a := range answers {
		got = append(got, a.status)
	}
	slices.Sort(got)
	if err := differ(passThenRefuse(60, 100), got); err != nil {
		t.Error(err)
	}
	if err := differ(counts{"l86400": 60}, stored(t, store.get(t).Client(), "rl:{GET:/sliding_log/60|all}")); err != nil {
		t.Error(err)
	}
	if n := total(t, e, scriptResent) - resent; n < 1 || n > 100 {
		t.Errorf("%d commands sent again for 100 requests", n)
	}
}
