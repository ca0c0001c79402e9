// Package servertest runs the servers of package servers for a test: it fails the test where one cannot be had, and
// ends them with it.
package servertest

import (
	"context"
	"os"
	"testing"

	"routelimit/servers"
)

// Envoy is the path of an Envoy; see servers.Toolbox.
func Envoy(t testing.TB, version string) string {
	t.Helper()
	path, err := servers.NewToolbox(os.Stderr).Envoy(t.Context(), version)
	check(t, err)
	return path
}

// Redis is the path of a Redis or Valkey server; see servers.Toolbox.
func Redis(t testing.TB, version string) string {
	t.Helper()
	path, err := servers.NewToolbox(os.Stderr).Redis(t.Context(), version)
	check(t, err)
	return path
}

// RedisCLI is the path of a redis-cli; see servers.Toolbox.
func RedisCLI(t testing.TB) string {
	t.Helper()
	path, err := servers.NewToolbox(os.Stderr).RedisCLI(t.Context())
	check(t, err)
	return path
}

// StartEnvoy runs Envoy until the end of the test. Without a Binary the default one is found or fetched. If the test
// fails, it shows Envoy's log.
func StartEnvoy(t testing.TB, o servers.EnvoyOptions) *servers.Envoy {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Envoy(t, "")
	}
	e, err := servers.StartEnvoy(t.Context(), o)
	check(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of envoy at %s:\n%s", e.AdminURL(), e.Log())
		}
		e.Stop()
	})
	return e
}

// Address is where a listener of an Envoy listens.
func Address(t testing.TB, e *servers.Envoy, listener string) string {
	t.Helper()
	addr, err := e.Address(t.Context(), listener)
	check(t, err)
	return addr
}

// StartRedis runs a Redis until the end of the test. Without a Binary the default one is found or fetched.
func StartRedis(t testing.TB, o servers.RedisOptions) *servers.Redis {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Redis(t, "")
	}
	r, err := servers.StartRedis(t.Context(), o)
	check(t, err)
	t.Cleanup(r.Stop)
	return r
}

// StartCluster runs a Redis Cluster until the end of the test. Without a Binary the default one is found or fetched.
func StartCluster(t testing.TB, o servers.ClusterOptions) *servers.Cluster {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Redis(t, "")
	}
	c, err := servers.StartCluster(t.Context(), o)
	check(t, err)
	t.Cleanup(c.Stop)
	return c
}

// StartUpstream runs an upstream until the end of the test.
func StartUpstream(t testing.TB, o servers.UpstreamOptions) *servers.Upstream {
	t.Helper()
	u, err := servers.StartUpstream(o)
	check(t, err)
	t.Cleanup(u.Stop)
	return u
}

// FlushAll empties a server between two parts of a test.
func FlushAll(t testing.TB, r *servers.Redis) {
	t.Helper()
	check(t, r.Client().FlushAll(context.Background()).Err())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
