package bootstrap

import "net/netip"

const (
	tlsSocket        = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	redisClusterType = "type.googleapis.com/envoy.extensions.clusters.redis.v3.RedisClusterConfig"
	redisProtocol    = "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions"
)

// SetRedis makes the counts live in one Redis, at host:port or at the path of a unix socket.
func (c *Config) SetRedis(addr string) error {
	cl, err := c.Cluster(RedisCluster)
	if err != nil {
		return err
	}
	delete(cl, "cluster_type")
	delete(cl, "lb_policy")
	delete(cl, "type")
	return c.SetEndpoints(RedisCluster, addr)
}

// SetRedisCluster makes the counts live in a Redis Cluster: some of its nodes' host:port, from which Envoy finds the others.
func (c *Config) SetRedisCluster(addrs ...string) error {
	cl, err := c.Cluster(RedisCluster)
	if err != nil {
		return err
	}
	delete(cl, "type")
	cl["lb_policy"] = "CLUSTER_PROVIDED"
	cl["cluster_type"] = map[string]any{
		"name": "envoy.clusters.redis",
		"typed_config": map[string]any{
			"@type":                      redisClusterType,
			"cluster_refresh_rate":       "2s",
			"redirect_refresh_interval":  "1s",
			"redirect_refresh_threshold": 1,
		},
	}
	return c.SetEndpoints(RedisCluster, addrs...)
}

// SetRedisAuth makes Envoy authenticate at Redis. An empty user is Redis' "default" user; two empty strings: no AUTH.
func (c *Config) SetRedisAuth(user, password string) error {
	cl, err := c.Cluster(RedisCluster)
	if err != nil {
		return err
	}
	if user == "" && password == "" {
		delete(cl, "typed_extension_protocol_options")
		return nil
	}
	options := map[string]any{"@type": redisProtocol, "auth_password": map[string]any{"inline_string": password}}
	if user != "" {
		options["auth_username"] = map[string]any{"inline_string": user}
	}
	cl["typed_extension_protocol_options"] = map[string]any{"envoy.filters.network.redis_proxy": options}
	return nil
}

// SetRedisTLS makes Envoy speak TLS with Redis. The certificate has to name this host, a name or an address, and to be signed
// by an authority in a file. An empty host: no TLS.
func (c *Config) SetRedisTLS(host, authority string) error {
	cl, err := c.Cluster(RedisCluster)
	if err != nil {
		return err
	}
	if host == "" {
		delete(cl, "transport_socket")
		return nil
	}
	kind := "DNS"
	context := map[string]any{"@type": tlsSocket}
	if _, err := netip.ParseAddr(host); err == nil {
		kind = "IP_ADDRESS"
	} else {
		context["sni"] = host
	}
	context["common_tls_context"] = map[string]any{"validation_context": map[string]any{
		"trusted_ca":                    map[string]any{"filename": authority},
		"match_typed_subject_alt_names": []any{map[string]any{"san_type": kind, "matcher": map[string]any{"exact": host}}},
	}}
	cl["transport_socket"] = map[string]any{"name": "envoy.transport_sockets.tls", "typed_config": context}
	return nil
}
