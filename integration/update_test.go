package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
	"routelimit/servers"
)

// updated is a listener that is changed while it serves.
func updated(policy string) *place { return &place{name: "updated", policy: policy} }

// ordersPolicy limits GET /orders, or leaves it to the default, beside a route that the tests do not ask for.
func ordersPolicy(orders, other string) string {
	if orders != "" {
		orders = `"GET /orders": {"identity": "all", "on_error": "closed", ` + orders + `},`
	}
	return `{"routes": {` + orders + ` "GET /other": {"identity": "all", "limit": ` + other + `, "window": "1m"}},
		"default": {"identity": "all", "limit": 777777, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"}}`
}

// steps are policies that follow each other under load. Each has another limit, which answers name in their headers, so it
// is known of every answer under which of them it was decided.
var steps = []struct {
	name, orders string
	limit        int
	status       int // what new connections get then
	field        string
	lasts        time.Duration // at least
}{
	{"first", `"limit": 1000000, "window": "24h", "algorithm": "fixed_window"`, 1000000, http.StatusOK, "w86400", 0},
	{"lowered", `"limit": 10, "window": "24h", "algorithm": "fixed_window"`, 10, http.StatusTooManyRequests, "w86400", 0},
	{"raised", `"limit": 2000000, "window": "24h", "algorithm": "fixed_window"`, 2000000, http.StatusOK, "w86400", 0},
	{"fixed made sliding", `"limit": 2000001, "window": "24h"`, 2000001, http.StatusOK, "w86400", 0},
	{"made a log", `"limit": 1000, "window": "24h", "algorithm": "sliding_log"`, 1000, http.StatusTooManyRequests, "l86400", 0},
	{"made a bucket", `"limit": 100, "window": "24h", "algorithm": "token_bucket"`, 100, http.StatusTooManyRequests, "b86400", 0},
	{"half the window", `"limit": 1000002, "window": "12h"`, 1000002, http.StatusOK, "w43200", 0},
	{"a window of a second", `"limit": 50, "window": "1s", "algorithm": "fixed_window"`, 50, http.StatusTooManyRequests, "", 1200 * time.Millisecond},
	{"a window of two", `"limit": 70, "window": "2s", "algorithm": "sliding_log"`, 70, http.StatusTooManyRequests, "", 2200 * time.Millisecond},
	{"removed", "", 777777, http.StatusOK, "", 0},
	{"added back", `"limit": 1000003, "window": "24h", "algorithm": "fixed_window"`, 1000003, http.StatusOK, "w86400", 0},
}

// TestG32_ChangesUnderLoad makes every kind of change to a limit while requests come in on connections that are kept and on
// new ones. No request fails. What was counted goes on counting where window and family of algorithm stay the same, and
// elsewhere the limit starts empty; meanwhile connections under the older configuration count by their own.
func TestG32_ChangesUnderLoad(t *testing.T) {
	e := fresh(t)
	r := store.get(t)
	steadyWindow(t, r)
	l := serveUpdated(t, e, ordersPolicy(steps[0].orders, "5"), "/orders")
	for _, step := range steps {
		publishListener(t, updated(ordersPolicy(step.orders, "5")))
		eventually(t, step.name+": the limit holds", l.holds(step.status, step.limit))
		for since := time.Now(); time.Since(since) < step.lasts; {
			l.goOn(t)
		}
		l.goOn(t)
		// A configuration with a short window does not cut the life of what one with a longer window has counted.
		if ttl := r.Client().PTTL(t.Context(), "rl:{GET:/orders|all}").Val(); ttl < 24*time.Hour {
			t.Errorf("%s: the key lives for %v", step.name, ttl)
		}
	}

	// A change elsewhere: the limit's counts go on.
	before := l.fresh.Load().number("x-ratelimit-remaining")
	publishListener(t, updated(ordersPolicy(steps[len(steps)-1].orders, "6")))
	other := dial(t, e, updated(""), "")
	eventually(t, "the other route's limit holds", func() error {
		other.http.CloseIdleConnections()
		if a := other.get("/other"); a.number("x-ratelimit-limit") != 6 {
			return fmt.Errorf("headers %v", a.header)
		}
		return nil
	})
	l.goOn(t)
	if after := l.fresh.Load().number("x-ratelimit-remaining"); after >= before {
		t.Errorf("after an unrelated change %d remain, %d before it", after, before)
	}

	waitDrained(t, e)
	l.end(t)
	want, passed := counts{}, int64(0)
	for _, step := range steps {
		n := int64(len(l.admitted[step.limit]))
		passed += n
		t.Logf("%s: %d passed", step.name, n)
		if step.field != "" {
			want[step.field] += n
		}
	}
	got := stored(t, r.Client(), "rl:{GET:/orders|all}")
	delete(got, "w1")
	delete(got, "l2")
	if err := differ(want, got); err != nil {
		t.Errorf("of %d answers: %v", l.answered.Load(), err)
	}
	if err := differ(counts{"w86400": int64(len(l.admitted[777777]))}, stored(t, r.Client(), "rl:{default|all}")); err != nil {
		t.Error(err)
	}
	for _, limited := range []limit.Limit{
		{Algorithm: limit.FixedWindow, Limit: 50, Window: time.Second}, {Algorithm: limit.SlidingLog, Limit: 70, Window: 2 * time.Second},
	} {
		if n := audit.Over(limited, l.admitted[int(limited.Limit)]); n != 0 {
			t.Errorf("%d admitted over %+v", n, limited)
		}
	}
	t.Logf("%d answers, %d passed, %d by an older configuration beside a newer", l.answered.Load(), passed, l.older)
	if l.older == 0 {
		t.Error("no connection was kept by an older configuration")
	}
}

// serveUpdated publishes the listener's first policy and starts the load.
func serveUpdated(t *testing.T, e *servers.Envoy, policy, path string) *load {
	t.Helper()
	publishListener(t, updated(policy))
	eventually(t, "the listener is there", func() error {
		_, err := e.Address(t.Context(), "updated")
		return err
	})
	l := startLoad(t, e, updated(""), path)
	l.goOn(t)
	return l
}

func waitDrained(t *testing.T, e *servers.Envoy) {
	t.Helper()
	eventually(t, "connections of replaced configurations are drained", func() error {
		if n := stat(t, e, "listener_manager.total_listeners_draining") + stat(t, e, "listener_manager.total_filter_chains_draining"); n != 0 {
			return fmt.Errorf("%d drain", n)
		}
		return nil
	})
}

// TestG31BrokenUpdateUnderLoad publishes a configuration with mistakes. It is refused as a whole, and the one before serves
// on; the good one after it takes effect.
func TestG31BrokenUpdateUnderLoad(t *testing.T) {
	e := fresh(t)
	policy := func(limit string) string {
		return `{"default": {"identity": "all", "limit": ` + limit + `, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"}}`
	}
	l := serveUpdated(t, e, policy("1000000"), "/")
	eventually(t, "the first limit holds", l.holds(http.StatusOK, 1000000))

	before, rejected := len(e.Log()), stat(t, e, "listener_manager.lds.update_rejected")
	publishListener(t, updated(wrongPolicy))
	eventually(t, "the update is refused", func() error {
		if stat(t, e, "listener_manager.lds.update_rejected") == rejected {
			return errors.New("it is not")
		}
		return nil
	})
	if want := `routes["POST /login"].windw: unknown field; did you mean "window"?`; !strings.Contains(e.Log()[before:], want) {
		t.Errorf("the log lacks %q:\n%s", want, tail(e.Log()[before:]))
	}
	if total(t, e, "routelimit_rejected_configurations_total{}") == 0 {
		t.Error("no refused configuration was counted")
	}
	l.goOn(t)
	if err := l.holds(http.StatusOK, 1000000)(); err != nil {
		t.Errorf("under the configuration that was kept: %v", err)
	}
	publishListener(t, updated(policy("2000000")))
	eventually(t, "the limit after it holds", l.holds(http.StatusOK, 2000000))
	l.end(t)
}
