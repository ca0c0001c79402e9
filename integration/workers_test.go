package integration

import (
	"errors"
	"fmt"
	"testing"

	"routelimit/servers"
)

// TestG31GoodThenBadThenGoodOnEveryWorker asks each worker by itself which limit holds.
func TestG31GoodThenBadThenGoodOnEveryWorker(t *testing.T) {
	e := fresh(t)
	publishListener(t, updated(underLimit("1000011")))
	eventually(t, "the listener is there", func() error {
		_, err := e.Address(t.Context(), "updated")
		return err
	})
	onEveryWorker(t, e, 1000011)

	for name, bad := range map[string]string{"wrong": wrongPolicy, "no JSON": "{", "a list": "[]"} {
		rejected := stat(t, e, "listener_manager.lds.update_rejected")
		publishText(t, "updated", bad)
		eventually(t, name+": the update is refused", func() error {
			if stat(t, e, "listener_manager.lds.update_rejected") == rejected {
				return errors.New("it is not")
			}
			return nil
		})
		onEveryWorker(t, e, 1000011)
	}

	publishListener(t, updated(underLimit("1000022")))
	onEveryWorker(t, e, 1000022)
	publishListener(t, &place{name: "updated", policy: `{"mode": "off", "default": null}`})
	onEveryWorker(t, e, 9001) // the upstream's own header, which nobody replaces
	publishListener(t, updated(underLimit("1000033")))
	onEveryWorker(t, e, 1000033)
}

// underLimit is a policy that limits everybody together.
func underLimit(limit string) string {
	return `{"default": {"identity": "all", "limit": ` + limit + `, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"}}`
}

// onEveryWorker makes connections until each worker has answered one of them under the limit, and then looks whether all
// others are, too.
func onEveryWorker(t *testing.T, e *servers.Envoy, limit int) {
	t.Helper()
	limitOf := func() (int, int) {
		before := workers(t, e)
		c := dial(t, e, updated(""), "")
		a := c.get("/")
		c.http.CloseIdleConnections()
		got := -1
		fmt.Sscan(a.header.Get("x-ratelimit-limit"), &got)
		for worker, n := range workers(t, e) {
			if n > before[worker] {
				return worker, got
			}
		}
		t.Fatal("no worker has taken the connection")
		return 0, 0
	}
	seen := map[int]bool{}
	eventually(t, fmt.Sprintf("limit %d on every worker", limit), func() error {
		worker, got := limitOf()
		if got == limit {
			seen[worker] = true
		}
		if len(seen) < 2 {
			return fmt.Errorf("workers %v; on worker %d limit %d", seen, worker, got)
		}
		return nil
	})
	for range 20 {
		if worker, got := limitOf(); got != limit {
			t.Errorf("worker %d: limit %d, want %d", worker, got, limit)
		}
	}
}

// workers are how many connections each of the two has taken.
func workers(t *testing.T, e *servers.Envoy) [2]int64 {
	t.Helper()
	var taken [2]int64
	for i := range taken {
		taken[i] = stat(t, e, fmt.Sprintf("listener.updated.worker_%d.downstream_cx_total", i))
	}
	return taken
}
