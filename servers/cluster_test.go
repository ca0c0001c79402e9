package servers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

func TestClusterSurvivesTheDeathOfAPrimary(t *testing.T) {
	for _, version := range servers.RedisVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := servertest.StartCluster(t, servers.ClusterOptions{
				Binary: servertest.Redis(t, version), Primaries: 3, Replicas: 1, NodeTimeout: time.Second,
			})
			ctx := t.Context()
			if err := c.Client().Set(ctx, "{a}k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			before, err := c.PrimaryOf(ctx, "{a}k")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := before.Client().Wait(ctx, 1, 5*time.Second).Result(); n != 1 || err != nil {
				t.Fatalf("%d replicas have the key, %v", n, err)
			}
			before.Kill()
			if err := c.WaitFailover(ctx, before); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Client().Get(ctx, "{a}k").Result(); got != "v" || err != nil {
				t.Errorf("after the failover: %q, %v", got, err)
			}
			after, err := c.PrimaryOf(ctx, "{a}k")
			if err != nil || after == before {
				t.Errorf("the primary is still the dead one: %v", err)
			}
			if err := c.WaitAgreed(ctx); err != nil {
				t.Error(err)
			}
			if err := c.Rejoin(ctx, before); err != nil {
				t.Error(err)
			}
			primaries, err := c.Primaries(ctx)
			if err != nil || len(primaries) != 3 || slices.Contains(primaries, before) || !slices.Contains(primaries, after) {
				t.Errorf("primaries %v, %v", primaries, err)
			}
		})
	}
}

func TestClusterEndsWithAllItsNodes(t *testing.T) {
	c, err := servers.StartCluster(t.Context(), servers.ClusterOptions{Binary: servertest.Redis(t, ""), Primaries: 3})
	if err != nil {
		t.Fatal(err)
	}
	c.Stop()
	for _, node := range c.Nodes {
		if alive(node.PID()) {
			t.Errorf("pid %d lives after Stop", node.PID())
		}
	}
}

func TestClusterTooSmallToVoteIsRefused(t *testing.T) {
	_, err := servers.StartCluster(t.Context(), servers.ClusterOptions{Primaries: 2})
	if err == nil || !strings.Contains(err.Error(), "3 or more") {
		t.Errorf("error = %v", err)
	}
}
