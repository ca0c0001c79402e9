package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"routelimit/servers"
)

// series are our metrics as /stats/prometheus has them, by name and labels.
func series(t *testing.T, e *servers.Envoy) map[string]float64 {
	t.Helper()
	page, err := e.Prometheus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(page) {
		at := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, "routelimit_") || at < 0 {
			continue
		}
		if found[line[:at]], err = strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64); err != nil {
			t.Fatalf("metric %q: %v", line, err)
		}
	}
	return found
}

// total is the value of one of our counters, 0 before it counts.
func total(t *testing.T, e *servers.Envoy, name string) int {
	t.Helper()
	return int(series(t, e)[name])
}

// stat is the value of one of Envoy's own counters or gauges.
func stat(t *testing.T, e *servers.Envoy, name string) int64 {
	t.Helper()
	all, err := e.Stats(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

// counted has its limits in a listener of its own, so that nothing else counts under its names.
var counted = listen("counted", `{
	"identities": {"api_key": {"from": "header:x-api-key", "secret": true}, "name": {"from": "header:x-name"}},
	"routes": {
		"GET /items/:id": {"limits": [
			{"name": "per key", "identity": "api_key", "limit": 2, "window": "24h"},
			{"name": "tried", "identity": "ip", "limit": 1, "window": "24h", "shadow": true}]},
		"GET /inside/*": {"identity": "name", "limit": 1, "window": "24h", "exempt": ["127.0.0.12"]}
	}, "default": null}`)

func TestMetricsCountByRouteLimitAndOutcome(t *testing.T) {
	e := fresh(t)
	before := series(t, e)
	c := dial(t, e, counted, "127.0.0.13")
	for id := range 5 {
		c.get(fmt.Sprintf("/items/%d", id), "x-api-key", "hush-key")
	}
	c.get("/items/1", "x-api-key", "hush-one", "x-api-key", "hush-two") // ambiguous, so by address
	dial(t, e, counted, "127.0.0.12").get("/inside/a", "x-name", "n")
	after := series(t, e)
	grown := map[string]float64{}
	for name, n := range after {
		if n != before[name] && strings.Contains(name, "_total{") { // histograms change when Envoy flushes them
			grown[name] = n - before[name]
		}
	}
	delete(grown, scriptResent) // that of any other test before, in each worker
	delete(grown, "routelimit_link_opened_total{}")
	err := differ(map[string]float64{
		`routelimit_requests_total{route="GET:/items/:id",limit="per key",outcome="passed"}`:       3,
		`routelimit_requests_total{route="GET:/items/:id",limit="per key",outcome="refused"}`:      3,
		`routelimit_requests_total{route="GET:/items/:id",limit="tried",outcome="passed"}`:         1,
		`routelimit_requests_total{route="GET:/items/:id",limit="tried",outcome="shadow_refused"}`: 3, // two more were refused before it was asked
		`routelimit_requests_total{route="GET:/inside/*",limit="",outcome="exempt"}`:               1,
		`routelimit_identity_total{kind="ambiguous"}`:                                              1,
		`routelimit_identity_total{kind="no_identity"}`:                                            1,
	}, grown)
	if err != nil {
		t.Error(err)
	}
}

// TestG36MetricsDoNotGrowWithIdentities sends requests of two thousand callers, half of them refused.
func TestG36MetricsDoNotGrowWithIdentities(t *testing.T) {
	e := fresh(t)
	ask := func(from, to int) []answer {
		const asking = 8
		var clients []*client
		for range asking {
			clients = append(clients, dial(t, e, counted, ""))
		}
		next := make(chan int)
		go func() {
			for i := from; i < to; i++ {
				next <- i
			}
			close(next)
		}()
		return parallel(t, clients, (to-from)/asking, func(c *client) (answer, error) {
			i := <-next
			return c.try("GET", fmt.Sprintf("/inside/%d", i), "", "x-name", fmt.Sprint("caller", i/2))
		})
	}
	ask(0, 16)
	before := len(series(t, e))
	refused := 0
	for _, a := range ask(16, 4000) {
		if a.status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != (4000-16)/2 {
		t.Errorf("%d refused of 3984, want half", refused)
	}
	after := series(t, e)
	if len(after) != before {
		t.Errorf("%d metrics, %d before", len(after), before)
	}
	for name := range after {
		if strings.Contains(name, "caller") {
			t.Errorf("%s names a caller", name)
		}
	}
}
