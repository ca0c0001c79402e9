package lint

import (
	"strconv"
	"strings"
	"time"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/strictjson"
)

// checkCluster: the link begins at a cluster.
func (e *envoy) checkCluster(p *plugin) {
	name := p.policy.Redis.Cluster
	if e.clusters[name] != nil {
		return
	}
	for _, document := range e.documents {
		dynamic := document.At("dynamic_resources")
		if isBootstrap(document) && dynamic.At("cds_config") == nil && dynamic.At("ads_config") == nil {
			e.fail("redis-cluster", p.config, "there is no cluster %q, through which redis.cluster says that Redis is reached; add it, or correct redis.cluster", name)
			return
		}
	}
}

// checkOpTimeout: redis_proxy gives answers in order, so one silent node holds
// up those of all others for op_timeout.
func (e *envoy) checkOpTimeout(p *plugin) {
	for _, proxy := range e.redisProxies(p.policy.Redis.Cluster, 0) {
		n := proxy.At("settings", "op_timeout")
		limit := p.policy.Redis.Timeout
		if opTimeout, ok := duration(n); ok && opTimeout >= limit {
			e.warn("op-timeout", n, "one silent node of Redis holds up all answers for %s, and requests wait no longer than redis.timeout, %s; write about half of that",
				n.Text(), strictjson.FormatDuration(limit))
		}
	}
}

// mostHops bounds the way from a cluster to Redis.
const mostHops = 4

// redisProxies are those that a cluster leads to, through listeners of this
// Envoy.
func (e *envoy) redisProxies(cluster string, hop int) []*yamltree.Node {
	var found []*yamltree.Node
	if hop == mostHops {
		return nil
	}
	for _, listener := range e.leadsTo(e.clusters[cluster]) {
		found = append(found, typed(listener, redisType)...)
		for _, m := range typed(listener, managerType) {
			for _, r := range routesOf(m) {
				found = append(found, e.redisProxies(r.At("route", "cluster").Text(), hop+1)...)
			}
		}
	}
	return found
}

// leadsTo are the listeners of this Envoy that are a cluster's endpoints.
func (e *envoy) leadsTo(cluster *yamltree.Node) []*yamltree.Node {
	var found []*yamltree.Node
	cluster.At("load_assignment").Walk(func(address *yamltree.Node) {
		name := address.At("envoy_internal_address", "server_listener_name").Text()
		pipe := address.At("pipe", "path").Text()
		for _, listener := range e.listeners {
			if name != "" && listener.At("name").Text() == name || pipe != "" && listener.At("address", "pipe", "path").Text() == pipe {
				found = append(found, listener)
			}
		}
	})
	return found
}

// routesOf are the routes of a manager that stand in the file.
func routesOf(m *yamltree.Node) []*yamltree.Node {
	var routes []*yamltree.Node
	for _, host := range m.At("route_config", "virtual_hosts").Items() {
		routes = append(routes, host.At("routes").Items()...)
	}
	return routes
}

// checkGateway: nothing may end the stream while it is idle.
func (e *envoy) checkGateway(g *plugin) {
	if g.manager == nil {
		return
	}
	n := g.manager.At("stream_idle_timeout")
	if idle, ok := duration(n); ok && idle == 0 {
		return
	}
	routes := routesOf(g.manager.Node)
	for _, r := range routes {
		if idle, ok := duration(r.At("route", "idle_timeout")); !ok || idle != 0 {
			routes = nil
			break
		}
	}
	if len(routes) > 0 {
		return // the route's value wins
	}
	if n == nil {
		n = g.manager.Node
	}
	e.fail("gateway-idle", n, "the stream to Redis ends when it is idle for as long as stream_idle_timeout, 5 minutes unless set; write stream_idle_timeout: 0s for the gateway")
}

// duration reads a google.protobuf.Duration: seconds with an "s".
func duration(n *yamltree.Node) (time.Duration, bool) {
	seconds, ok := strings.CutSuffix(n.Text(), "s")
	number, err := strconv.ParseFloat(seconds, 64)
	return time.Duration(number * float64(time.Second)), ok && err == nil
}
