package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"routelimit/servers"
)

// exact has a route for each algorithm and some limits, all with one bucket for everybody.
var exact = listen("exact", exactPolicy())

var (
	algorithms  = []string{"sliding_window", "fixed_window", "sliding_log", "token_bucket"}
	fields      = []string{"w86400", "w86400", "l86400", "b86400"} // where each of them counts, in a window of 24 hours
	exactLimits = []int{1, 2, 5, 60}
)

func exactPolicy() string {
	var routes []string
	for _, algorithm := range algorithms {
		for _, limit := range exactLimits {
			routes = append(routes, fmt.Sprintf(
				`"GET /%s/%d": {"identity": "all", "limit": %d, "window": "24h", "algorithm": %q, "on_error": "closed"}`,
				algorithm, limit, limit, algorithm))
		}
	}
	return `{"routes": {` + strings.Join(routes, ",") + `}, "default": null}`
}

func eachExact(t *testing.T, test func(t *testing.T, path, key, field string, limit int)) {
	for i, algorithm := range algorithms {
		for _, limit := range exactLimits {
			path := fmt.Sprintf("/%s/%d", algorithm, limit)
			t.Run(path[1:], func(t *testing.T) { test(t, path, "rl:{GET:"+path+"|all}", fields[i], limit) })
		}
	}
}

func TestG15ExactlyTheLimitPassesOneByOne(t *testing.T) {
	eachWay(t, exactlyTheLimitPassesOneByOne)
}

func exactlyTheLimitPassesOneByOne(t *testing.T, w way) {
	c := dial(t, fresh(t), w.exact, "")
	steadyWindow(t, store.get(t))
	eachExact(t, func(t *testing.T, path, key, field string, limit int) {
		for i := range limit + 2 {
			if a := c.get(path); i < limit {
				checkPassed(t, a, limit, limit-1-i)
			} else {
				checkRefused(t, a, limit, 2*day)
			}
		}
		if err := differ(counts{field: int64(limit)}, stored(t, store.get(t).Client(), key)); err != nil {
			t.Error(err)
		}
	})
}

// TestG17ExactlyTheLimitPassesThroughTwoEnvoys asks at once over many connections, so that all four workers have some.
func TestG17ExactlyTheLimitPassesThroughTwoEnvoys(t *testing.T) {
	eachWay(t, exactlyTheLimitPassesThroughTwoEnvoys)
}

func exactlyTheLimitPassesThroughTwoEnvoys(t *testing.T, w way) {
	envoys := []*servers.Envoy{fresh(t), second.get(t)}
	showLog(t, envoys[1])
	steadyWindow(t, store.get(t))
	var clients []*client
	for range 16 { // each has connections of its own
		for _, e := range envoys {
			clients = append(clients, dial(t, e, w.exact, ""))
		}
	}
	eachExact(t, func(t *testing.T, path, key, field string, limit int) {
		answers := parallel(t, clients, max(2, limit/10), func(c *client) (answer, error) { return c.try("GET", path, "") })
		var remaining, want []int
		for _, a := range answers {
			switch a.status {
			case http.StatusOK:
				remaining = append(remaining, a.number("x-ratelimit-remaining"))
			case http.StatusTooManyRequests:
			default:
				t.Fatalf("status %d %s", a.status, a.body)
			}
		}
		for i := range limit {
			want = append(want, i)
		}
		slices.Sort(remaining)
		if err := differ(want, remaining); err != nil {
			t.Errorf("what was left after each that passed: %v", err)
		}
		if err := differ(counts{field: int64(limit)}, stored(t, store.get(t).Client(), key)); err != nil {
			t.Error(err)
		}
	})
	for _, e := range envoys {
		checkWorkersShared(t, e, w.exact)
	}
}

// parallel makes each client ask so often, all clients at once.
func parallel(t *testing.T, clients []*client, times int, ask func(*client) (answer, error)) []answer {
	t.Helper()
	var wait sync.WaitGroup
	var mutex sync.Mutex
	var answers []answer
	for _, c := range clients {
		wait.Go(func() {
			for range times {
				a, err := ask(c)
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				answers = append(answers, a)
				mutex.Unlock()
			}
		})
	}
	wait.Wait()
	return answers
}

// checkWorkersShared finds that both workers of an Envoy had connections to a place.
func checkWorkersShared(t *testing.T, e *servers.Envoy, p *place) {
	t.Helper()
	stats, err := e.Stats(t.Context(), "worker_")
	if err != nil {
		t.Fatal(err)
	}
	for worker := range 2 {
		name := fmt.Sprintf("listener.%s.worker_%d.downstream_cx_total", p.name, worker)
		if stats[name] == 0 {
			t.Errorf("%s is 0", name)
		}
	}
}
