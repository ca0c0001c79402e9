package integration

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"routelimit/servers"
)

// flooded has a limit for each user, and one for all together.
var flooded = listen("flooded", `{
	"identities": {"user": {"from": "header:x-user"}},
	"routes": {"GET /shared": {"on_error": "closed", "limits": [
		{"name": "user", "identity": "user", "limit": 1, "window": "24h", "algorithm": "fixed_window"},
		{"name": "all", "identity": "all", "limit": 10, "window": "24h", "algorithm": "fixed_window"}]}},
	"default": null}`)

// TestG21AFloodOfOneUserLeavesTheSharedLimitToTheOthers sends from one user through two Envoys at once, while others ask.
func TestG21AFloodOfOneUserLeavesTheSharedLimitToTheOthers(t *testing.T) {
	envoys := []*servers.Envoy{fresh(t), second.get(t)}
	showLog(t, envoys[1])
	steadyWindow(t, store.get(t))
	const key = "rl:{GET:/shared|all}"
	var flood, others []*client
	for i := range 20 {
		flood = append(flood, dial(t, envoys[i%2], flooded, ""))
	}
	for i := range 4 {
		others = append(others, dial(t, envoys[i%2], flooded, ""))
	}
	var mutex sync.Mutex
	passed := map[string]int{}
	asked := 0
	ask := func(c *client, user string) (answer, error) {
		a, err := c.try("GET", "/shared", "", "x-user", user)
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case err != nil:
		case a.status == http.StatusOK:
			passed[user]++
		case a.status != http.StatusTooManyRequests:
			t.Errorf("status %d: %s", a.status, a.body)
		}
		return a, err
	}
	another := func() string {
		mutex.Lock()
		defer mutex.Unlock()
		asked++
		return fmt.Sprint("other", asked)
	}

	var wait sync.WaitGroup
	wait.Go(func() { parallel(t, flood, 5, func(c *client) (answer, error) { return ask(c, "u") }) })
	wait.Go(func() { parallel(t, others, 2, func(c *client) (answer, error) { return ask(c, another()) }) })
	wait.Wait()
	if passed["u"] > 1 { // none where the others were refused with it
		t.Errorf("%d of the flood passed, want 1 at most", passed["u"])
	}
	if len(passed) > 10 {
		t.Errorf("%d users passed, want 10 at most", len(passed))
	}
	eventually(t, "all that was charged for refusals is given back", func() error {
		got := stored(t, store.get(t).Client(), key)
		return differ(int64(len(passed)), got["w86400"])
	})
	for len(passed) < 10 {
		before := len(passed)
		if a, err := ask(others[0], another()); err != nil || len(passed) != before+1 {
			t.Fatalf("%d have passed, and the next is refused: %d, %v", before, a.status, err)
		}
	}
	if a, _ := ask(others[0], another()); a.status != http.StatusTooManyRequests {
		t.Errorf("an eleventh user: status %d", a.status)
	}
}
