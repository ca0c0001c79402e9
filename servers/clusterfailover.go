package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// WaitFailover returns when every node that still runs agrees that others serve the slots of a dead one, and calls the
// cluster ok again. That takes the node timeout and a second or two.
func (c *Cluster) WaitFailover(ctx context.Context, dead *Redis) error {
	ctx, cancel := within(ctx, clusterStartTime)
	defer cancel()
	err := poll(ctx, nil, func(ctx context.Context) error {
		for _, node := range c.Nodes {
			select {
			case <-node.Done():
				continue
			default:
			}
			if err := clusterOK(ctx, node); err != nil {
				return err
			}
			if err := gaveUpSlots(ctx, node, dead); err != nil {
				return err
			}
		}
		return c.reload(ctx, dead.addr)
	})
	if err != nil {
		return fmt.Errorf("no failover of %s: %w; check that it had a replica and that a majority of primaries lives", dead.addr, err)
	}
	return nil
}

// gaveUpSlots is nil when a node's view of the cluster gives no slot to the dead one.
func gaveUpSlots(ctx context.Context, node, dead *Redis) error {
	text, err := node.client.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		// id addr@bus flags primary ping pong epoch link slots…
		fields := strings.Fields(line)
		if len(fields) > 8 && strings.HasPrefix(fields[1], dead.addr+"@") {
			return fmt.Errorf("node %s still gives slots %s to %s", node.addr, fields[8], dead.addr)
		}
	}
	return nil
}

// reload makes the client ask for the topology now; it is nil when no primary in it has that address.
func (c *Cluster) reload(ctx context.Context, gone string) error {
	return c.client.ForEachMaster(ctx, func(_ context.Context, primary *redis.Client) error {
		if primary.Options().Addr == gone {
			return fmt.Errorf("the client still takes %s for a primary", gone)
		}
		return nil
	})
}
