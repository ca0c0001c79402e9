package integration

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// shared is a server that the first test to need it starts, and that runs until all tests have ended.
type shared[T stopper] struct {
	start  func(context.Context) (T, error)
	once   sync.Once
	server T
	err    error
}

type stopper interface{ Stop() }

// started are the shared servers that run, oldest first.
var started []stopper

func (s *shared[T]) get(t testing.TB) T {
	t.Helper()
	s.once.Do(func() {
		if s.server, s.err = s.start(context.Background()); s.err == nil {
			started = append(started, s.server)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

func stopShared() {
	for _, s := range slices.Backward(started) {
		s.Stop()
	}
}

var (
	store    = shared[*servers.Redis]{start: startStore}
	nodes    = shared[*servers.Cluster]{start: startNodes}
	upstream = shared[*servers.Upstream]{start: startUpstream}

	// front and second are two Envoys of two workers each with one Redis behind them, and sharded is one with the Cluster.
	front   = shared[*servers.Envoy]{start: startOnStore}
	second  = shared[*servers.Envoy]{start: startOnStore}
	sharded = shared[*servers.Envoy]{start: startOnNodes}
)

func startStore(ctx context.Context) (*servers.Redis, error) {
	binary, err := servers.NewToolbox(os.Stderr).Redis(ctx, "")
	if err != nil {
		return nil, err
	}
	return servers.StartRedis(ctx, servers.RedisOptions{Binary: binary})
}

func startNodes(ctx context.Context) (*servers.Cluster, error) {
	binary, err := servers.NewToolbox(os.Stderr).Redis(ctx, "")
	if err != nil {
		return nil, err
	}
	return servers.StartCluster(ctx, servers.ClusterOptions{
		Binary: binary, Primaries: 3, Replicas: 1,
		// As envoy.yaml asks: with "yes", the default, all nodes refuse all keys from when they have noticed that one
		// primary is dead until its replica has taken over.
		Args: []string{"--cluster-require-full-coverage", "no"},
	})
}

// upstreamHeader is on every answer of the upstream: quota headers of its own, which ours must replace, and a Retry-After,
// which is its business.
var upstreamHeader = http.Header{
	"X-Ratelimit-Limit":     {"9001", "9002"},
	"X-Ratelimit-Remaining": {"9003"},
	"X-Ratelimit-Reset":     {"9004"},
	"Retry-After":           {"77"},
}

func startUpstream(context.Context) (*servers.Upstream, error) {
	return servers.StartUpstream(servers.UpstreamOptions{Header: upstreamHeader})
}

func startOnStore(ctx context.Context) (*servers.Envoy, error) {
	return startEnvoy(ctx, func(c *bootstrap.Config) error { return c.SetRedis(store.server.Addr()) })
}

func startOnNodes(ctx context.Context) (*servers.Envoy, error) {
	return startEnvoy(ctx, func(c *bootstrap.Config) error { return c.SetRedisCluster(nodes.server.Addrs()[:2]...) })
}

// startEnvoy runs envoy.yaml with other addresses and more listeners. What useRedis needs must have been started.
func startEnvoy(ctx context.Context, useRedis func(*bootstrap.Config) error) (*servers.Envoy, error) {
	config, err := configuration(upstream.server.Addr(), useRedis)
	if err != nil {
		return nil, err
	}
	return runEnvoy(ctx, config, "")
}

func runEnvoy(ctx context.Context, config *bootstrap.Config, dir string) (*servers.Envoy, error) {
	binary, err := servers.NewToolbox(os.Stderr).Envoy(ctx, os.Getenv("ENVOY_VERSION"))
	if err != nil {
		return nil, err
	}
	return servers.StartEnvoy(ctx, servers.EnvoyOptions{
		Binary: binary, Config: config.Bytes(), WorkDir: "..", Concurrency: 2, Dir: dir,
		Args: []string{
			"--file-flush-interval-msec", "100", // access logs
			"--drain-time-s", "3", // how long connections go on under a configuration that was replaced
			"--service-node", "test", "--service-cluster", "test", // listeners from files need a name
		},
	})
}

// fresh is the Envoy front with nothing counted. At the end of the test it looks at the keys that the test left.
func fresh(t *testing.T) *servers.Envoy {
	t.Helper()
	r := store.get(t)
	upstream.get(t).Reset()
	e := front.get(t)
	showLog(t, e)
	flush(t, r)
	t.Cleanup(func() {
		if err := checkKeys(context.Background(), r.Client()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func showLog(t *testing.T, e *servers.Envoy) {
	before := len(e.Log())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last of the log of envoy at %s:\n%s", e.AdminURL(), tail(e.Log()[before:]))
		}
	})
}

// tail are the last lines of a log.
func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-50):], "\n")
}

func flush(t *testing.T, r *servers.Redis) {
	t.Helper()
	if err := r.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until check is nil. Where it never is, the test fails with what check said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	if err := poll(time.Minute, check); err != nil {
		t.Fatalf("%s: still not after a minute: %v", what, err)
	}
}

func poll(patience time.Duration, check func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
