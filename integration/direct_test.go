package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"routelimit/bootstrap"
)

// addStraightLink adds a link that leads to one Redis without redis_proxy in between, so that a silent Redis is silence.
func addStraightLink(c *bootstrap.Config) error {
	link, err := c.AddLink("straight")
	if err != nil {
		return err
	}
	return c.LeadDirectly(link.Cluster, link.Store)
}

// sick has a route of each kind of on_error on the straight link, with the deadline as it ships.
var sick = listen("sick", `{"redis": {"cluster": "straight_routelimit", "timeout": "50ms"}, "routes": {
	"GET /open":   {"identity": "all", "limit": 100000, "window": "1h"},
	"GET /closed": {"identity": "all", "limit": 100000, "window": "1h", "on_error": "closed"},
	"GET /local":  {"identity": "ip",  "limit": 1000,   "window": "1h", "on_error": "local"}}, "default": null}`)

// silences is how often the test below has run: local buckets outlast it, so each run needs callers of its own.
var silences int

// TestG27SilenceOpensTheBreaker stops a Redis that is reached directly: after a few requests nobody waits any more, each
// route goes by its on_error, and the limits work again within seconds.
func TestG27SilenceOpensTheBreaker(t *testing.T) {
	e := fresh(t)
	decided := func() error {
		for range 20 { // on both workers
			c := dial(t, e, sick, "127.0.5.1")
			if a := c.get("/closed"); a.status != http.StatusOK || a.number("x-ratelimit-limit") != 100000 {
				return fmt.Errorf("status %d, headers %v", a.status, a.header)
			}
		}
		return nil
	}
	eventually(t, "Redis decides", decided)
	opened, closed := `routelimit_breaker_total{outcome="opened"}`, `routelimit_breaker_total{outcome="closed"}`
	openedBefore, closedBefore, before := total(t, e, opened), total(t, e, closed), len(e.Log())

	resume := pause(t)
	var clients []*client
	silences++
	for range 8 {
		clients = append(clients, dial(t, e, sick, fmt.Sprintf("127.0.5.%d", 1+silences)))
	}
	for path, want := range map[string]int{"/closed": http.StatusServiceUnavailable, "/open": http.StatusOK} {
		answers := parallel(t, clients, 50, func(c *client) (answer, error) { return c.try("GET", path, "") })
		quick := 0
		for _, a := range answers {
			if a.status != want {
				t.Errorf("%s: status %d %s", path, a.status, a.body)
			}
			if a.took < 25*time.Millisecond {
				quick++
			}
		}
		checkInTime(t, answers...)
		if quick < len(answers)/2 {
			t.Errorf("%s: %d of %d did not wait for the deadline, want most", path, quick, len(answers))
		}
	}
	local := map[int]int{}
	for _, a := range parallel(t, clients, 50, func(c *client) (answer, error) { return c.try("GET", "/local", "") }) {
		local[a.status]++
	}
	// Two workers with a tenth of 1,000 each, and a few that come back meanwhile.
	if n := local[http.StatusOK]; n < 100 || n > 205 || n+local[http.StatusTooManyRequests] != 400 {
		t.Errorf("of 400 local requests: %v", local)
	}
	if n := total(t, e, opened) - openedBefore; n < 1 || n > 2 {
		t.Errorf("the breakers of two workers opened %d times", n)
	}
	// Each kind once in ten seconds in each worker; lines of refusals, at most 20 a second, have a bound of their own.
	if n := logged(e, before, "routelimit: ") - logged(e, before, `"event":"rate_limited"`); n > 30 {
		t.Errorf("%d log lines about 1,200 requests, want a few", n)
	}

	resume()
	began := time.Now()
	eventually(t, "Redis decides again", decided)
	t.Logf("decided again %v after Redis went on", time.Since(began))
	if total(t, e, closed) == closedBefore {
		t.Error("no breaker has closed")
	}
}

// remembering is a listener whose workers refuse from memory, as they ship.
var remembering = listen("remembering", `{"deny_cache": {}, "routes": {
	"GET /short": {"identity": "all", "limit": 3, "window": "3s", "algorithm": "fixed_window"}}, "default": null}`)

// TestG38RefusedFromMemory asks two workers in turn until a window has passed: none refuses after Redis would allow.
func TestG38RefusedFromMemory(t *testing.T) {
	e := fresh(t)
	const hits = `routelimit_deny_cache_hits_total{}`
	const window = 3 * time.Second
	saved := total(t, e, hits)
	now := func() time.Duration { // by Redis' clock
		at, err := store.get(t).Client().Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(at.UnixNano())
	}
	var clients []*client
	for range 8 { // in all likelihood on both workers
		clients = append(clients, dial(t, e, remembering, ""))
	}
	eventually(t, "a window begins", func() error {
		if gone := now() % window; gone > window/3 {
			return fmt.Errorf("%v of this one are gone", gone)
		}
		return nil
	})
	first, refused := now()/window, 0
	for i := range 3 {
		checkPassed(t, clients[0].get("/short"), 3, 2-i)
	}
	eventually(t, "the next window", func() error {
		before := now()
		a := clients[refused%len(clients)].get("/short")
		after := now()
		switch {
		case a.status == http.StatusOK && after/window > first:
			return nil
		case a.status != http.StatusTooManyRequests || before/window > first:
			t.Fatalf("status %d between %v before the window's end and %v", a.status, (first+1)*window-before, (first+1)*window-after)
		}
		refused++
		left := func(at time.Duration) int { return int(((first+1)*window - at + time.Second - 1) / time.Second) }
		// Redis counts whole milliseconds, rounded down.
		if n := a.number("retry-after"); after/window == first && (n < left(after) || n > left(before-time.Millisecond)) {
			t.Errorf("Retry-After %d, with %d to %d s left", n, left(before), left(after))
		}
		return fmt.Errorf("%d were refused", refused)
	})
	if n := total(t, e, hits) - saved; n < refused-2*len(clients) || n == 0 {
		t.Errorf("%d of %d refusals were from memory", n, refused)
	}
}
