package stand

import (
	"fmt"
	"net"
	"slices"

	"routelimit/bootstrap"
)

// Names in envoy.yaml beside those that package bootstrap knows.
const (
	limiterFilter    = "routelimit"
	routerFilter     = "envoy.filters.http.router"
	upstreamListener = "bench_upstream"
	redisListener    = "routelimit_redis"
	PublicStats      = "public" // stat_prefix of the public listener's connection manager
)

// TypePrefix stands before the names of protobuf messages.
const TypePrefix = "type.googleapis.com/"

func configOf(text []byte, module, redis string, upstreamPort int, change func(*bootstrap.Config) error) ([]byte, error) {
	config, err := bootstrap.Parse(text)
	if err != nil {
		return nil, err
	}
	config.RemoveAccessLogs()
	config.SetAdmin("127.0.0.1", 0)
	steps := []func() error{
		func() error { return config.SetListener(bootstrap.PublicListener, "127.0.0.1", 0) },
		func() error { return config.SetModule(module) },
		func() error { return config.SetRedis(redis) },
		func() error { return addUpstream(config, upstreamPort) },
		func() error { return change(config) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return config.Bytes(), nil
}

// Limit leaves the public listener routelimit with a policy, and nothing else.
func Limit(c *bootstrap.Config, policy string) error {
	if err := c.SetPolicy(policy); err != nil {
		return err
	}
	return setFilters(c, nil, limiterFilter, routerFilter)
}

// Unlimit takes out routelimit and all that only it needs, and puts another HTTP filter in its place; nil: none.
func Unlimit(c *bootstrap.Config, filter map[string]any) error {
	remove(c, "listeners", redisListener)
	remove(c, "clusters", bootstrap.LinkCluster, bootstrap.RedisCluster)
	return setFilters(c, filter, routerFilter)
}

// SetProxyTimeout is how long redis_proxy waits for an answer.
func SetProxyTimeout(c *bootstrap.Config, timeout string) error {
	proxy, err := onlyFilter(c, redisListener)
	if err != nil {
		return err
	}
	settings, ok := proxy["settings"].(map[string]any)
	if !ok {
		return fmt.Errorf("envoy.yaml's listener %q has no redis_proxy with settings; restore it", redisListener)
	}
	settings["op_timeout"] = timeout
	return nil
}

// Direct leads the stream to Redis itself.
func Direct(c *bootstrap.Config) error {
	if err := c.LeadDirectly(bootstrap.LinkCluster, bootstrap.RedisCluster); err != nil {
		return err
	}
	remove(c, "listeners", redisListener)
	remove(c, "clusters", bootstrap.RedisCluster)
	return nil
}

// Bridge leads the stream to a bridge at host:port.
func Bridge(c *bootstrap.Config, addr string) error {
	link, err := c.Cluster(bootstrap.LinkCluster)
	if err != nil {
		return err
	}
	delete(link, "transport_socket")
	delete(link, "upstream_config")
	if options, ok := link["typed_extension_protocol_options"].(map[string]any); ok {
		for _, o := range options {
			if http, ok := o.(map[string]any); ok {
				delete(http, "http_filters")
			}
		}
	}
	remove(c, "listeners", redisListener)
	remove(c, "clusters", bootstrap.RedisCluster)
	return c.SetEndpoints(bootstrap.LinkCluster, addr)
}

// addUpstream adds a listener that answers everything itself and makes it the upstream: a real upstream cluster, since
// Envoy's own rate limit filter is skipped on a route without one.
func addUpstream(c *bootstrap.Config, port int) error {
	static, ok := c.Root()["static_resources"].(map[string]any)
	if !ok {
		return fmt.Errorf("envoy.yaml has no static_resources; restore them")
	}
	listeners, _ := static["listeners"].([]any)
	static["listeners"] = append(listeners, map[string]any{
		"name":    upstreamListener,
		"address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": port}},
		"filter_chains": []any{map[string]any{"filters": []any{map[string]any{
			"name": "envoy.filters.network.http_connection_manager",
			"typed_config": map[string]any{
				"@type":       TypePrefix + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix": "bench_upstream",
				"route_config": map[string]any{"virtual_hosts": []any{map[string]any{
					"name": "all", "domains": []any{"*"},
					"routes": []any{map[string]any{
						"match":           map[string]any{"prefix": "/"},
						"direct_response": map[string]any{"status": 200, "body": map[string]any{"inline_string": "ok"}},
					}},
				}}},
				"http_filters": []any{map[string]any{
					"name":         routerFilter,
					"typed_config": map[string]any{"@type": TypePrefix + "envoy.extensions.filters.http.router.v3.Router"},
				}},
			},
		}}}},
	})
	return c.SetUpstream(net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
}

func remove(c *bootstrap.Config, kind string, names ...string) {
	static, ok := c.Root()["static_resources"].(map[string]any)
	if !ok {
		return // as where a name is not there: who needs something finds out
	}
	list, _ := static[kind].([]any)
	static[kind] = slices.DeleteFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		return slices.Contains(names, name)
	})
}

// setFilters leaves the public listener the HTTP filters of these names, with one in front if given.
func setFilters(c *bootstrap.Config, first map[string]any, names ...string) error {
	manager, err := Manager(c)
	if err != nil {
		return err
	}
	var chosen []any
	if first != nil {
		chosen = append(chosen, first)
	}
	all, _ := manager["http_filters"].([]any)
	for _, name := range names {
		i := slices.IndexFunc(all, func(item any) bool { m, _ := item.(map[string]any); return m["name"] == name })
		if i < 0 {
			return fmt.Errorf("envoy.yaml's public listener has no HTTP filter %q; restore it", name)
		}
		chosen = append(chosen, all[i])
	}
	manager["http_filters"] = chosen
	return nil
}

// Manager is the configuration of the public listener's HTTP connection manager.
func Manager(c *bootstrap.Config) (map[string]any, error) {
	manager, err := onlyFilter(c, bootstrap.PublicListener)
	if err != nil {
		return nil, err
	}
	if manager["stat_prefix"] != PublicStats {
		return nil, fmt.Errorf("envoy.yaml's public listener has no stat_prefix %q; restore it", PublicStats)
	}
	return manager, nil
}

// onlyFilter is the configuration of a listener's one network filter.
func onlyFilter(c *bootstrap.Config, listener string) (map[string]any, error) {
	l, err := c.Listener(listener)
	if err != nil {
		return nil, err
	}
	if chains, ok := l["filter_chains"].([]any); ok && len(chains) == 1 {
		chain, _ := chains[0].(map[string]any)
		if filters, ok := chain["filters"].([]any); ok && len(filters) == 1 {
			filter, _ := filters[0].(map[string]any)
			if config, ok := filter["typed_config"].(map[string]any); ok {
				return config, nil
			}
		}
	}
	return nil, fmt.Errorf("envoy.yaml's listener %q is not one network filter; restore it", listener)
}
