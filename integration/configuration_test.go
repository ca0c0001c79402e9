package integration

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// wrongPolicy has four mistakes, each of another kind.
const wrongPolicy = `{
  "routes": {
    "POST /login": { "identity": "ip", "limit": 10, "windw": "5m" },
    "GET /api":    { "identity": "usernme", "limit": -1, "window": "60" }
  },
  "identities": { "username": { "from": "body:username" } },
  "default": null
}`

// wrongWords are what must be said of it: path, value, place and the nearest known name.
var wrongWords = []string{
	`routes["POST /login"].windw: unknown field; did you mean "window"? (line 3, column 53)`,
	`no identity is called "usernme"; did you mean "username"? (line 4, column 34)`,
	`routes["GET /api"].limit: -1 is out of range; `, ` (line 4, column 54)`,
	`routes["GET /api"].window: "60" has no unit; write a duration such as "60s" or "1m" (line 4, column 68)`,
}

func TestG30EnvoyRefusesToStartWithABadPolicy(t *testing.T) {
	c, err := configuration(upstream.get(t).Addr(), func(*bootstrap.Config) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPolicy(wrongPolicy); err != nil {
		t.Fatal(err)
	}
	_, err = runEnvoy(t.Context(), c, t.TempDir())
	var refused *servers.EnvoyConfigError
	if !errors.As(err, &refused) {
		t.Fatalf("error = %v, want Envoy's refusal", err)
	}
	log, err := os.ReadFile(refused.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wrongWords {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// updated are the states of a listener that is changed while it serves.
func updated(limit string) *place {
	return &place{name: "updated", policy: `{"default": {"identity": "all", "limit": ` + limit + `, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"}}`}
}

// TestG31AndG32UpdatesUnderLoad replaces a listener's policy by a worse, a broken and a better one while requests come in. A
// limit holds at any time, no request fails, and what was counted is kept.
func TestG31AndG32UpdatesUnderLoad(t *testing.T) {
	e := fresh(t)
	steadyWindow(t, store.get(t))
	publishListener(t, updated("1000000"))
	eventually(t, "the listener is there", func() error {
		_, err := e.Address(t.Context(), "updated")
		return err
	})
	load := startLoad(t, e)
	eventually(t, "some load", load.reached(200))

	// Broken: refused as a whole, and the one before serves on.
	before, rejected := len(e.Log()), stat(t, e, "listener_manager.lds.update_rejected")
	publishListener(t, &place{name: "updated", policy: wrongPolicy})
	eventually(t, "the update is refused", func() error {
		if stat(t, e, "listener_manager.lds.update_rejected") == rejected {
			return errors.New("it is not")
		}
		return nil
	})
	if want := `routes["POST /login"].windw: unknown field; did you mean "window"?`; logged(e, before, want) == 0 {
		t.Errorf("the log lacks %q:\n%s", want, tail(e.Log()[before:]))
	}
	if total(t, e, "routelimit_rejected_configurations_total{}") == 0 {
		t.Error("no refused configuration was counted")
	}
	at := load.answered.Load()
	eventually(t, "load under the configuration that was kept", load.reached(at+200))

	// Lowered: refused at once, since much was used.
	publishListener(t, updated("10"))
	eventually(t, "a lower limit holds", load.newest(http.StatusTooManyRequests, 10))

	// Raised again: passes at once, and every request so far is counted.
	publishListener(t, updated("2000000"))
	eventually(t, "a higher limit holds", load.newest(http.StatusOK, 2000000))

	eventually(t, "connections of replaced configurations are drained", func() error {
		if n := stat(t, e, "listener_manager.total_listeners_draining") + stat(t, e, "listener_manager.total_filter_chains_draining"); n != 0 {
			return fmt.Errorf("%d drain", n)
		}
		return nil
	})
	load.end(t)
	if err := differ(counts{"w86400": load.passed.Load()}, stored(t, store.get(t).Client(), "rl:{default|all}")); err != nil {
		t.Errorf("of %d answers: %v", load.answered.Load(), err)
	}
}

// load asks all the time, half of the requests on connections of their own: connections keep the configuration under
// which they were made until they are drained.
type load struct {
	answered, passed atomic.Int64
	fresh            atomic.Pointer[answer] // the newest on a connection of its own
	stop             chan struct{}
	ended            chan error
	clients          int
}

func startLoad(t *testing.T, e *servers.Envoy) *load {
	l := &load{stop: make(chan struct{}), ended: make(chan error, 4), clients: 4}
	for i := range l.clients {
		c := dial(t, e, updated(""), "")
		go func() { l.ended <- l.ask(c, i%2 == 0) }()
	}
	return l
}

// ask ends at the first answer that is neither a pass nor a refusal under a limit.
func (l *load) ask(c *client, anew bool) error {
	for {
		select {
		case <-l.stop:
			return nil
		default:
		}
		if anew {
			c.http.CloseIdleConnections()
		}
		a, err := c.try("GET", "/", "")
		switch {
		case err != nil:
			return err
		case a.number("x-ratelimit-limit") < 0:
			return fmt.Errorf("no limit held: status %d, headers %v", a.status, a.header)
		case a.status == http.StatusOK:
			l.passed.Add(1)
		case a.status != http.StatusTooManyRequests:
			return fmt.Errorf("status %d %s", a.status, a.body)
		}
		l.answered.Add(1)
		if anew {
			l.fresh.Store(&a)
		}
	}
}

// newest is nil once new connections get that status under that limit, with nothing left of it if they are refused.
func (l *load) newest(status, limit int) func() error {
	return func() error {
		a := l.fresh.Load()
		if a == nil || a.status != status || a.number("x-ratelimit-limit") != limit || status != http.StatusOK && a.number("x-ratelimit-remaining") != 0 {
			return fmt.Errorf("the newest answer is %+v", a)
		}
		return nil
	}
}

// reached is nil once so many answers have come.
func (l *load) reached(n int64) func() error {
	return func() error {
		if got := l.answered.Load(); got < n {
			return fmt.Errorf("%d of %d answers", got, n)
		}
		return nil
	}
}

func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	for range l.clients {
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	}
}
