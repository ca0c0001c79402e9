package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
	"routelimit/servers"
)

// leased has routes whose limits are leased: of a day, so that no window ends, and of a second.
var leased = listen("leased", leasedPolicy())

const (
	leasedLimit = 400
	leaseOf     = 20
)

func leasedPolicy() string {
	var routes []string
	for _, algorithm := range []string{"sliding_window", "fixed_window"} {
		for name, lease := range map[string]string{"number": fmt.Sprint(leaseOf), "auto": `"auto"`} {
			for window, length := range map[string]string{"day": "24h", "second": "1s"} {
				routes = append(routes, fmt.Sprintf(
					`"GET /%s/%s/%s": {"identity": "key", "limit": %d, "window": %q, "algorithm": %q, "lease": %s, "on_error": "closed"}`,
					algorithm, name, window, leasedLimit, length, algorithm, lease))
			}
		}
	}
	return `{"deny_cache": {}, "identities": {"key": {"from": "header:x-key"}}, "routes": {` + strings.Join(routes, ",") + `}, "default": null}`
}

// freshKey is a caller that no worker knows: what a worker holds of a lease outlives a flush of Redis.
func freshKey() string { return fmt.Sprintf("caller%d", time.Now().UnixNano()) }

func eachLeased(t *testing.T, window string, test func(t *testing.T, path string, algorithm limit.Algorithm)) {
	for i, algorithm := range []string{"sliding_window", "fixed_window"} {
		for _, lease := range []string{"number", "auto"} {
			path := fmt.Sprintf("/%s/%s/%s", algorithm, lease, window)
			t.Run(path[1:], func(t *testing.T) { test(t, path, limit.Algorithm(i)) })
		}
	}
}

// Through two Envoys of two workers exactly the limit passes once every worker has been asked often enough, and no
// sooner is anybody refused than when the others hold the rest.
func TestExactlyTheLimitPassesByLeasesOfFourWorkers(t *testing.T) {
	envoys := []*servers.Envoy{fresh(t), second.get(t)}
	showLog(t, envoys[1])
	steadyWindow(t, store.get(t))
	var clients []*client
	for range 16 { // so that in all likelihood both workers get some
		for _, e := range envoys {
			clients = append(clients, dial(t, e, leased, ""))
		}
	}
	eachLeased(t, "day", func(t *testing.T, path string, _ limit.Algorithm) {
		key := freshKey()
		pass := func(c *client) int {
			passed := 0
			for range leasedLimit + leaseOf {
				a, err := c.try("GET", path, "", "x-key", key)
				switch {
				case err != nil:
					t.Fatal(err)
				case a.status == http.StatusOK:
					passed++
				case a.status != http.StatusTooManyRequests:
					t.Fatalf("status %d %s", a.status, a.body)
				}
			}
			return passed
		}
		first := 0
		for _, c := range clients[1:] { // each worker holds something
			for range 4 {
				if a, err := c.try("GET", path, "", "x-key", key); err != nil || a.status != http.StatusOK {
					t.Fatalf("%+v, %v", a, err)
				}
				first++
			}
		}
		one := pass(clients[0])
		if least := leasedLimit - 3*leaseOf; first+one < least {
			t.Errorf("%d passed before one worker refused, want at least %d: three others hold a lease at most", first+one, least)
		}
		total := first + one
		for _, a := range parallel(t, clients, 50, func(c *client) (answer, error) { return c.try("GET", path, "", "x-key", key) }) {
			if a.status == http.StatusOK {
				total++
			}
		}
		if total != leasedLimit {
			t.Errorf("%d passed in all, want %d", total, leasedLimit)
		}
		key = "rl:{GET:" + path + "|key:" + key + "}"
		if err := differ(counts{"w86400": leasedLimit}, stored(t, store.get(t).Client(), key)); err != nil {
			t.Error(err)
		}
	})
	for _, e := range envoys {
		checkWorkersShared(t, e, leased)
	}
}

// Over windows of a second, through four workers at once, not one request is admitted beyond the definition, as seen
// from outside.
func TestLeasesOfFourWorkersKeepToTheDefinition(t *testing.T) {
	envoys := []*servers.Envoy{fresh(t), second.get(t)}
	showLog(t, envoys[1])
	eachLeased(t, "second", func(t *testing.T, path string, algorithm limit.Algorithm) {
		key := freshKey()
		var mutex sync.Mutex
		var admitted []audit.Admission
		end := time.Now().Add(2500 * time.Millisecond)
		var wait sync.WaitGroup
		for i := range 8 {
			c := dial(t, envoys[i%2], leased, "")
			wait.Go(func() {
				for time.Now().Before(end) {
					sent := time.Now()
					a, err := c.try("GET", path, "", "x-key", key)
					if err != nil || a.status != http.StatusOK && a.status != http.StatusTooManyRequests {
						t.Errorf("%+v, %v", a, err)
						return
					}
					if a.status == http.StatusOK {
						mutex.Lock()
						admitted = append(admitted, audit.Admission{Sent: sent, Answered: time.Now()})
						mutex.Unlock()
					}
				}
			})
		}
		wait.Wait()
		l := limit.Limit{Algorithm: algorithm, Limit: leasedLimit, Window: time.Second}
		if over := audit.Over(l, admitted); over != 0 {
			t.Errorf("%d of %d are over", over, len(admitted))
		}
		if len(admitted) < leasedLimit {
			t.Errorf("%d admitted in more than two seconds", len(admitted))
		}
	})
	all := series(t, envoys[0])
	for _, name := range []string{`routelimit_leases_total{outcome="taken"}`, `routelimit_leased_requests_total{outcome="taken"}`, `routelimit_leased_requests_total{outcome="spent"}`} {
		if all[name] == 0 {
			t.Errorf("%s is 0 or not there", name)
		}
	}
}
