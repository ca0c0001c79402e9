// Package soak sends requests of very many callers through one Envoy and looks at its memory and at the number of our
// metrics on the way.
//
//	go test ./integration/soak -v                                    150,000 requests of 50,000 callers
//	go test ./integration/soak -v -callers 1000000 -for 10m -timeout 1h   a million callers, and on for ten minutes at least
package soak

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"routelimit/bootstrap"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

var (
	callersFlag = flag.Int("callers", 50_000, "how many callers ask")
	forFlag     = flag.Duration("for", 0, "how long to go on at least, with more callers")
)

type tree = map[string]any

const workers = 3

// Each caller asks three times. On one route he is refused twice, on the other once: half of all.
const (
	requestsEach = 3
	policy       = `{
		"redis": {"timeout": "10s"},
		"identities": {"caller": {"from": "header:x-caller"}},
		"routes": {
			"GET /one": {"identity": "caller", "limit": 1, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"},
			"GET /two": {"limits": [
				{"name": "two", "identity": "caller", "limit": 2, "window": "24h", "algorithm": "fixed_window"},
				{"name": "tried", "identity": "all", "limit": 1, "window": "24h", "shadow": true}], "on_error": "closed"}
		}, "default": null}`
)

// startEnvoy runs envoy.yaml with that policy. Envoy answers itself what passes, to leave the machine to the test.
func startEnvoy(t *testing.T, redis *servers.Redis) *servers.Envoy {
	t.Helper()
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := bootstrap.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../../build/routelimit.wasm"); err != nil {
		t.Fatalf("%v; build it with: make wasm", err)
	}
	c.RemoveAccessLogs()
	c.SetAdmin("127.0.0.1", 0)
	for _, err := range []error{
		c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0), c.SetRedis(redis.Addr()), c.SetPolicy(policy), answerItself(c),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// On a busy machine nothing may go undecided: then it would not be half that is refused.
	raw := strings.Replace(string(c.Bytes()), `"0.025s"`, `"8s"`, -1)
	return servertest.StartEnvoy(t, servers.EnvoyOptions{Config: []byte(raw), WorkDir: "../..", Concurrency: workers,
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), LogLevel: "error"})
}

func answerItself(c *bootstrap.Config) error {
	l, err := c.Listener(bootstrap.PublicListener)
	if err != nil {
		return err
	}
	chain := l["filter_chains"].([]any)[0].(tree)
	manager := chain["filters"].([]any)[0].(tree)["typed_config"].(tree)
	manager["route_config"] = tree{"virtual_hosts": []any{tree{"name": "all", "domains": []any{"*"}, "routes": []any{
		tree{"match": tree{"prefix": "/"}, "direct_response": tree{"status": 200}},
	}}}}
	return nil
}

// logEvery is the time between two lines of the log.
func logEvery() time.Duration {
	if *forFlag > 0 {
		return 15 * time.Second
	}
	return 2 * time.Second
}

// memory is what an Envoy takes.
type memory struct{ resident, own, vms int64 }

// memoryOf reads it. The VMs' memory is in none of Envoy's figures, since V8 maps it itself; so it is what the process has
// in memory of its own (RssAnon) less what Envoy's allocator has taken (server.memory_physical_size).
func memoryOf(t *testing.T, e *servers.Envoy) memory {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var m memory
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	if _, err := fmt.Sscan(after, &m.resident); err != nil {
		t.Fatalf("%v in %s", err, status)
	}
	m.resident <<= 10
	stats, err := e.Stats(t.Context(), "^server.memory_physical_size$")
	if err != nil {
		t.Fatal(err)
	}
	m.own = stats["server.memory_physical_size"]
	m.vms = m.resident - m.own
	return m
}

func (m memory) String() string {
	return fmt.Sprintf("%d MB resident, %d MB of Envoy's allocator, %d MB of the VMs", m.resident>>20, m.own>>20, m.vms>>20)
}

// series are the names of our metrics.
func series(t *testing.T, e *servers.Envoy) map[string]bool {
	t.Helper()
	page, err := e.Prometheus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(page) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && strings.HasPrefix(line, "routelimit_") {
			found[line[:at]] = true
		}
	}
	return found
}
