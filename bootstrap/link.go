package bootstrap

import (
	"maps"
	"strings"
)

// linkListeners and linkClusters are the way to Redis in envoy.yaml, from the cluster where the module opens its stream.
var (
	linkListeners = []string{"routelimit_redis"}
	linkClusters  = []string{LinkCluster, RedisCluster}
)

// Link is a way to Redis of its own, beside the one that envoy.yaml has.
type Link struct {
	Cluster string         // what a policy writes into redis.cluster
	Store   string         // the cluster with Redis' addresses
	Proxy   map[string]any // the settings of its redis_proxy
}

// AddLink adds a copy of the way to Redis as it is now: SetRedis and SetRedisCluster after it change the first one alone.
// The names of its listeners and clusters begin with a prefix.
func (c *Config) AddLink(prefix string) (*Link, error) {
	names := map[string]string{}
	for _, name := range append(linkListeners, linkClusters...) {
		names[name] = prefix + "_" + name
	}
	link := &Link{Cluster: names[LinkCluster], Store: names[RedisCluster]}
	for _, name := range linkListeners {
		l, err := c.Listener(name)
		if err != nil {
			return nil, err
		}
		l = renamed(l, names).(map[string]any)
		walk(l, func(m map[string]any) {
			if strings.HasSuffix(text(m, "@type"), ".RedisProxy") {
				link.Proxy, _ = m["settings"].(map[string]any)
			}
		})
		c.Add("listeners", l)
	}
	for _, name := range linkClusters {
		cl, err := c.Cluster(name)
		if err != nil {
			return nil, err
		}
		c.Add("clusters", renamed(cl, names).(map[string]any))
	}
	return link, nil
}

// LeadDirectly makes a way to Redis end at the cluster's own addresses: what it was for is then one Redis, which speaks
// to the module without redis_proxy in between.
func (c *Config) LeadDirectly(cluster, store string) error {
	link, err := c.Cluster(cluster)
	if err != nil {
		return err
	}
	redis, err := c.Cluster(store)
	if err != nil {
		return err
	}
	addresses := renamed(redis["load_assignment"], map[string]string{store: cluster})
	link["load_assignment"] = addresses
	delete(link, "transport_socket")
	return nil
}

// CopyListener is a copy of a listener under another name, for Add.
func (c *Config) CopyListener(from, name string) (map[string]any, error) {
	l, err := c.Listener(from)
	if err != nil {
		return nil, err
	}
	return renamed(l, map[string]string{from: name}).(map[string]any), nil
}

// Add adds to static_resources: to its "listeners" or its "clusters".
func (c *Config) Add(kind string, one map[string]any) {
	resources, _ := c.root["static_resources"].(map[string]any)
	resources[kind] = append(items(resources[kind]), one)
}

// renamed is a deep copy in which listeners and clusters have other names.
func renamed(value any, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for key, inner := range v {
			c[key] = renamed(inner, names)
			switch key {
			case "name", "cluster", "cluster_name", "server_listener_name", "stat_prefix":
				if s, ok := inner.(string); ok && names[s] != "" {
					c[key] = names[s]
				}
			}
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = renamed(inner, names)
		}
		return c
	}
	return value
}
