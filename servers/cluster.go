package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const slots = 16384 // of any Redis Cluster

// ClusterOptions says how to run a Redis Cluster.
type ClusterOptions struct {
	Binary      string
	Primaries   int           // at least 3, or no failover can be voted
	Replicas    int           // of each primary
	NodeTimeout time.Duration // after which a silent node is suspected; 0: 2 s
	Args        []string      // added to each node's command line
}

// Cluster is a running Redis Cluster.
type Cluster struct {
	// Nodes are all servers: first the primaries in the order of their slots, then the replicas, those of the first
	// primary first. A failover changes the roles and not this order.
	Nodes  []*Redis
	client *redis.ClusterClient
}

// clusterStartTime bounds the forming of a cluster if the caller's context does not.
const clusterStartTime = 60 * time.Second

// StartCluster runs the nodes, deals the slots evenly, and returns when every node calls the cluster whole and every
// replica follows its primary: from then on the death of one primary ends in a failover.
func StartCluster(ctx context.Context, o ClusterOptions) (*Cluster, error) {
	if o.Primaries < 3 {
		return nil, fmt.Errorf("a cluster of %d primaries cannot vote; ask for 3 or more", o.Primaries)
	}
	ctx, cancel := within(ctx, clusterStartTime)
	defer cancel()
	c := &Cluster{}
	for len(c.Nodes) < o.Primaries*(1+o.Replicas) {
		node, err := StartRedis(ctx, o.node())
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	if err := c.form(ctx, o.Primaries); err != nil {
		c.Stop()
		return nil, fmt.Errorf("the cluster did not form: %w; try again, or give the machine more time", err)
	}
	c.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), Protocol: 2, DisableIdentity: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return c, nil
}

// node is what each server of the cluster is started with.
func (o ClusterOptions) node() RedisOptions {
	timeout := o.NodeTimeout
	if timeout == 0 {
		timeout = 2 * time.Second
	}
	args := []string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", strconv.FormatInt(timeout.Milliseconds(), 10),
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
	}
	return RedisOptions{Binary: o.Binary, Args: append(args, o.Args...)}
}

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
			if err := node.client.ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(other.options.Port)).Err(); err != nil {
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

// PrimaryOf is the node that serves a key now.
func (c *Cluster) PrimaryOf(ctx context.Context, key string) (*Redis, error) {
	if err := c.reload(ctx, ""); err != nil {
		return nil, err
	}
	client, err := c.client.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, node := range c.Nodes {
		if node.addr == client.Options().Addr {
			return node, nil
		}
	}
	return nil, errors.New("the cluster names a primary that is none of its nodes: " + client.Options().Addr)
}

// Addrs are the host:port of all nodes, in their order.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.addr)
	}
	return addrs
}

// Client follows the cluster's topology. Stop closes it.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Stop ends all nodes.
func (c *Cluster) Stop() {
	if c.client != nil {
		c.client.Close()
	}
	for _, node := range c.Nodes {
		node.Stop()
	}
}
