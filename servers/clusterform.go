package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// form makes single nodes one cluster.
func (c *Cluster) form(ctx context.Context, primaries int) error {
	for i, node := range c.Nodes {
		// Different epochs from the start: no time is lost on settling which node's slots are newer.
		if err := node.client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i < primaries {
			first, end := i*slots/primaries, (i+1)*slots/primaries
			if err := node.client.ClusterAddSlotsRange(ctx, first, end-1).Err(); err != nil {
				return err
			}
		}
	}
	if err := c.introduce(ctx); err != nil {
		return err
	}
	if err := poll(ctx, nil, c.known); err != nil {
		return err
	}
	for i, replica := range c.Nodes[primaries:] {
		each := (len(c.Nodes) - primaries) / primaries
		id, err := c.Nodes[i/each].client.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		if err := replica.client.ClusterReplicate(ctx, id).Err(); err != nil {
			return err
		}
	}
	return poll(ctx, nil, func(ctx context.Context) error { return c.ready(ctx, len(c.Nodes)-primaries) })
}

// introduce makes every node meet every other, which is faster than waiting for gossip.
func (c *Cluster) introduce(ctx context.Context) error {
	for i, node := range c.Nodes {
		for _, other := range c.Nodes[i+1:] {
			if err := node.client.ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(other.busBase())).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// known is nil when every node has shaken hands with every other.
func (c *Cluster) known(ctx context.Context) error {
	for _, node := range c.Nodes {
		text, err := node.client.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		met := 0
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "handshake") && !strings.Contains(line, "noaddr") {
				met++
			}
		}
		if met != len(c.Nodes) {
			return fmt.Errorf("node %s knows %d of %d nodes", node.addr, met, len(c.Nodes))
		}
	}
	return nil
}

// ready is nil when every node calls the cluster ok, sees that many replicas, and each replica is in step.
func (c *Cluster) ready(ctx context.Context, replicas int) error {
	for _, node := range c.Nodes {
		if err := clusterOK(ctx, node); err != nil {
			return err
		}
		nodes, err := node.client.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		if n := strings.Count(nodes, "slave"); n != replicas {
			return fmt.Errorf("node %s sees %d of %d replicas", node.addr, n, replicas)
		}
		info, err := node.client.Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") {
			return fmt.Errorf("replica %s has not caught up", node.addr)
		}
	}
	return nil
}

func clusterOK(ctx context.Context, node *Redis) error {
	info, err := node.client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "cluster_state:ok") {
		return fmt.Errorf("node %s says %s", node.addr, lastLine(info, "cluster_state:"))
	}
	return nil
}
