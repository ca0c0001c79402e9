package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// across has a limit for each caller under each algorithm, and one route whose limits have keys on different nodes.
var across = listen("across", `{
	"identities": {"api_key": {"from": "header:x-api-key", "secret": true}},
	"routes": {
		"GET /sliding_window": {"identity": "api_key", "limit": 3, "window": "24h", "on_error": "closed"},
		"GET /fixed_window":   {"identity": "api_key", "limit": 3, "window": "24h", "on_error": "closed", "algorithm": "fixed_window"},
		"GET /sliding_log":    {"identity": "api_key", "limit": 3, "window": "24h", "on_error": "closed", "algorithm": "sliding_log"},
		"GET /token_bucket":   {"identity": "api_key", "limit": 3, "window": "24h", "on_error": "closed", "algorithm": "token_bucket"},
		"GET /several": {"on_error": "closed", "limits": [
			{"name": "everybody", "identity": "all", "limit": 40, "window": "24h", "algorithm": "fixed_window"},
			{"name": "address", "identity": "ip", "limit": 1000, "window": "24h", "algorithm": "token_bucket"},
			{"name": "caller", "identity": "api_key", "limit": 2, "window": "24h", "algorithm": "sliding_log"},
			{"name": "pair", "identity": "ip+api_key", "limit": 1000, "window": "24h"}]},
		"GET /many": {"identity": "api_key", "limit": 1000000, "window": "24h", "on_error": "closed", "algorithm": "fixed_window"}
	}, "default": null}`)

// callers are the API keys that cluster tests use: enough for every node to have some.
var callers = func() (list []string) {
	for i := range 30 {
		list = append(list, fmt.Sprint("hush-caller-", i))
	}
	return list
}()

// keyOf is where a route counts a caller.
func keyOf(path, caller string) string {
	return "rl:{GET:" + path + "|api_key:" + hashed(caller) + "}"
}

// freshCluster is a client of the Envoy in front of the Cluster, with nothing counted.
func freshCluster(t *testing.T, w way) *client {
	t.Helper()
	n := nodes.get(t)
	upstream.get(t).Reset()
	e := sharded.get(t)
	showLog(t, e)
	eachPrimary(t, n, func(c *redis.Client) error { return c.FlushAll(t.Context()).Err() })
	t.Cleanup(func() {
		eachPrimary(t, n, func(c *redis.Client) error { return checkKeys(context.Background(), c) })
	})
	return dial(t, e, w.across, "127.0.0.14")
}

func eachPrimary(t *testing.T, n *servers.Cluster, do func(*redis.Client) error) {
	t.Helper()
	err := n.Client().ForEachMaster(context.Background(), func(_ context.Context, c *redis.Client) error { return do(c) })
	if err != nil {
		t.Error(err)
	}
}

func TestG24ClusterCountsEveryAlgorithmExactly(t *testing.T) {
	eachWay(t, clusterCountsEveryAlgorithmExactly)
}

func clusterCountsEveryAlgorithmExactly(t *testing.T, w way) {
	c := freshCluster(t, w)
	for i, algorithm := range algorithms {
		path := "/" + algorithm
		for _, caller := range callers {
			got := statuses(5, func(int) answer { return c.get(path, "x-api-key", caller) })
			if err := differ(passThenRefuse(3, 5), got); err != nil {
				t.Fatalf("%s, %s: %v", path, caller, err)
			}
			if err := differ(counts{fields[i]: 3}, stored(t, nodes.get(t).Client(), keyOf(path, caller))); err != nil {
				t.Fatalf("%s, %s: %v", path, caller, err)
			}
		}
	}
	checkSpread(t)
}

// checkSpread finds keys on every primary.
func checkSpread(t *testing.T) {
	t.Helper()
	var mutex sync.Mutex
	var sizes []int64
	eachPrimary(t, nodes.get(t), func(c *redis.Client) error {
		n, err := c.DBSize(t.Context()).Result()
		mutex.Lock()
		defer mutex.Unlock()
		sizes = append(sizes, n)
		return err
	})
	if len(sizes) != 3 || slices.Min(sizes) == 0 {
		t.Errorf("keys on each primary: %d", sizes)
	}
}

func TestG24ClusterDecidesLimitsOfSeveralIdentities(t *testing.T) {
	eachWay(t, clusterDecidesLimitsOfSeveralIdentities)
}

func clusterDecidesLimitsOfSeveralIdentities(t *testing.T, w way) {
	c := freshCluster(t, w)
	passed := map[string]int64{}
	total := int64(0)
	for range 3 {
		for _, caller := range callers {
			a := c.get("/several", "x-api-key", caller)
			wantPass := passed[caller] < 2 && total < 40
			if wantPass != (a.status == http.StatusOK) {
				t.Fatalf("%s after %d of %d: status %d %s", caller, passed[caller], total, a.status, a.body)
			}
			if wantPass {
				passed[caller]++
				total++
			}
		}
	}
	// What other keys were charged for a refused request has been given back.
	read := nodes.get(t).Client()
	eventually(t, "refunds", func() error {
		wrong := []error{
			differ(counts{"w86400": 40}, stored(t, read, "rl:{GET:/several|all}")),
			differ(counts{"b86400": 40}, stored(t, read, "rl:{GET:/several|ip:127.0.0.14}")),
		}
		for _, caller := range callers {
			wrong = append(wrong,
				differ(counts{"l86400": passed[caller]}, stored(t, read, keyOf("/several", caller))),
				differ(counts{"w86400": passed[caller]}, stored(t, read, "rl:{GET:/several|ip:127.0.0.14|api_key:"+hashed(caller)+"}")))
		}
		return errors.Join(wrong...)
	})
	checkSpread(t)
}

// TestClusterPrimaryDies kills a primary. Callers whose keys are elsewhere are limited all the while; the others are
// refused for lack of a decision until the replica has taken over, and then are limited again.
func TestClusterPrimaryDies(t *testing.T) {
	eachWay(t, clusterPrimaryDies)
}

func clusterPrimaryDies(t *testing.T, w way) {
	c := freshCluster(t, w)
	n := nodes.get(t)
	ask := func(path, caller string) answer { return c.get(path, "x-api-key", caller) }
	victim, err := n.PrimaryOf(t.Context(), keyOf("/many", callers[0]))
	if err != nil {
		t.Fatal(err)
	}
	hit, spared := split(t, "/many", victim)
	_, sparedFew := split(t, "/sliding_log", victim)
	for _, caller := range callers {
		ask("/many", caller)
	}

	victim.Kill()
	t.Cleanup(func() {
		if err := n.Rejoin(context.Background(), victim); err != nil {
			t.Error(err)
		}
	})
	checkUnavailable(t, ask("/many", hit[0]))
	got := statuses(5, func(int) answer { return ask("/sliding_log", sparedFew[0]) })
	if err := differ(passThenRefuse(3, 5), got); err != nil {
		t.Errorf("a caller on another primary: %v", err)
	}

	over := make(chan error, 1)
	go func() { over <- n.WaitFailover(context.Background(), victim) }()
	rounds := int64(1) // the one before
	for waiting := true; waiting; rounds++ {
		for _, caller := range spared {
			if a := ask("/many", caller); a.status != http.StatusOK || a.number("x-ratelimit-remaining") != 1000000-int(rounds)-1 {
				t.Fatalf("a caller on another primary: status %d, headers %v after %d rounds", a.status, a.header, rounds)
			}
		}
		if a := ask("/many", hit[0]); a.status != http.StatusOK {
			checkUnavailable(t, a)
		}
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			waiting = false
		default:
		}
	}
	t.Logf("%d rounds during the failover", rounds)

	eventually(t, "Envoy finds the new primary", func() error {
		for _, caller := range hit {
			if a := ask("/many", caller); a.status != http.StatusOK {
				return fmt.Errorf("status %d %s", a.status, a.body)
			}
		}
		return nil
	})
	for _, caller := range callers[1:] {
		if caller == sparedFew[0] {
			continue
		}
		got := statuses(5, func(int) answer { return ask("/sliding_log", caller) })
		if err := differ(passThenRefuse(3, 5), got); err != nil {
			t.Errorf("%s afterwards: %v", caller, err)
		}
	}
}

// split says which callers a node counts under a path, and which not.
func split(t *testing.T, path string, node *servers.Redis) (on, off []string) {
	t.Helper()
	for _, caller := range callers {
		at, err := nodes.get(t).PrimaryOf(t.Context(), keyOf(path, caller))
		if err != nil {
			t.Fatal(err)
		}
		if at == node {
			on = append(on, caller)
		} else {
			off = append(off, caller)
		}
	}
	if len(on) == 0 || len(off) == 0 {
		t.Fatalf("%d callers on the node and %d elsewhere", len(on), len(off))
	}
	return on, off
}
