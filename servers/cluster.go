package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	Password    string        // as in RedisOptions
	TLS         *RedisTLS     // as in RedisOptions; each node has a port of its own
}

// Cluster is a running Redis Cluster.
type Cluster struct {
	// Nodes are all servers: first the primaries in the order of their slots, then the replicas, those of the first
	// primary first. A failover changes the roles and not this order.
	Nodes  []*Redis
	client *redis.ClusterClient
}

// clusterStartTime bounds the forming of a cluster if the caller's context does not.
const clusterStartTime = 2 * time.Minute

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
		Addrs: c.Addrs(), Password: o.Password, Protocol: 2, DisableIdentity: true, DialerRetries: 1,
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
	if o.TLS != nil { // or Redis 7.0 would name plain ports to clients that speak TLS
		args = append(args, "--tls-cluster", "yes", "--tls-replication", "yes")
	}
	return RedisOptions{Binary: o.Binary, Args: append(args, o.Args...), Password: o.Password, TLS: o.TLS}
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
