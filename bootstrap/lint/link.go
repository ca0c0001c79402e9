package lint

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/strictjson"
)

// checkCluster: the link begins at a cluster, and goes on at listeners.
func (e *envoy) checkCluster(p *plugin) {
	name := p.policy.Redis.Cluster
	if e.clusters[name] == nil && e.holdsAll("cds_config") {
		e.fail("redis-cluster", p.config, "there is no cluster %q, through which redis.cluster says that Redis is reached; add it, or correct redis.cluster", name)
	}
	if e.holdsAll("lds_config") {
		e.checkListeners(name, 0)
	}
}

// holdsAll reports whether the file is a whole configuration to which nothing is
// added while it runs.
func (e *envoy) holdsAll(source string) bool {
	for _, document := range e.documents {
		dynamic := document.At("dynamic_resources")
		if isBootstrap(document) && dynamic.At(source) == nil && dynamic.At("ads_config") == nil {
			return true
		}
	}
	return false
}

// checkListeners looks for the inner listeners that a cluster leads to. Envoy
// starts without them, and every question to Redis fails.
func (e *envoy) checkListeners(cluster string, hop int) {
	if hop == mostHops {
		return
	}
	e.clusters[cluster].At("load_assignment").Walk(func(address *yamltree.Node) {
		n := address.At("envoy_internal_address", "server_listener_name")
		if n != nil && !slices.ContainsFunc(e.listeners, func(l *yamltree.Node) bool { return l.At("name").Text() == n.Text() }) {
			e.fail("internal-listener", n, "there is no listener %q, to which the cluster %q leads; add it, or correct the name", n.Text(), cluster)
		}
	})
	for _, listener := range e.leadsTo(e.clusters[cluster]) {
		for _, next := range clustersOf(listener) {
			e.checkListeners(next, hop+1)
		}
	}
}

// leastSpare is what an answer needs beyond op_timeout to come in time.
const leastSpare = 5 * time.Millisecond

// checkOpTimeout: redis_proxy gives answers in order, so one silent node holds
// up those of all others for op_timeout.
func (e *envoy) checkOpTimeout(p *plugin) {
	for _, proxy := range e.redisProxies(p.policy.Redis.Cluster, 0) {
		n := proxy.At("settings", "op_timeout")
		limit := p.policy.Redis.Timeout
		if opTimeout, ok := duration(n); ok && opTimeout > limit-leastSpare {
			e.warn("op-timeout", n, "one silent node of Redis holds up all answers for %s, and requests wait no longer than redis.timeout, %s; write about half of that, or a longer redis.timeout",
				n.Text(), strictjson.FormatDuration(limit))
		}
	}
}

// checkEntry: redis_proxy lets nobody in on another's behalf: it refuses AUTH and
// SELECT.
func (e *envoy) checkEntry(p *plugin) {
	if p.policy.Redis.PasswordEnv == "" && p.policy.Redis.Database == 0 {
		return
	}
	for _, proxy := range e.redisProxies(p.policy.Redis.Cluster, 0) {
		e.warn("redis-entry", proxy, "the policy has redis.password_env or redis.database, which redis_proxy refuses, so that every decision fails; remove them, and write auth_username and auth_password at the cluster of Redis")
	}
}

// checkRedirection: a slot that moves leads to another node.
func (e *envoy) checkRedirection(p *plugin) {
	for _, proxy := range e.redisProxies(p.policy.Redis.Cluster, 0) {
		names := []string{proxy.At("prefix_routes", "catch_all_route", "cluster").Text()}
		for _, r := range proxy.At("prefix_routes", "routes").Items() {
			names = append(names, r.At("cluster").Text())
		}
		isCluster := func(name string) bool {
			return e.clusters[name].At("cluster_type", "name").Text() == "envoy.clusters.redis"
		}
		at := proxy.At("settings")
		if n := at.At("enable_redirection"); n != nil {
			at = n
		}
		if slices.ContainsFunc(names, isCluster) && !at.True() {
			e.warn("redirection", at, "keys of a slot that moves to another node cannot be counted, since redis_proxy does not follow the Cluster there; write enable_redirection: true")
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
		for _, next := range clustersOf(listener) {
			found = append(found, e.redisProxies(next, hop+1)...)
		}
	}
	return found
}

// clustersOf are those that the HTTP routes of a listener lead to.
func clustersOf(listener *yamltree.Node) []string {
	var names []string
	for _, m := range typed(listener, managerType) {
		for _, r := range routesOf(m) {
			names = append(names, r.At("route", "cluster").Text())
		}
	}
	return names
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

// checkGateway: the stream must reach Redis as a plain connection, and nothing may
// end it while it is idle.
func (e *envoy) checkGateway(g *plugin) {
	switch {
	case g.cluster != nil:
		e.checkUpstreamGateway(g)
	case g.manager != nil:
		e.checkIdle(g)
	}
}

// checkUpstreamGateway checks a gateway that is a cluster's upstream filter.
func (e *envoy) checkUpstreamGateway(g *plugin) {
	if pool := g.cluster.At("upstream_config"); !isType(pool.At("typed_config"), tcpType) {
		at := pool
		if at == nil {
			at = g.cluster
		}
		e.fail("gateway-pool", at, "the cluster speaks HTTP behind its gateway, which Redis does not understand; write upstream_config: {name: envoy.filters.connection_pools.http.tcp, typed_config: {\"@type\": %s%s}}", typePrefix, tcpType)
	}
	filters := upstreamFilters(g.cluster)
	if last := filters[len(filters)-1]; !isType(last.At("typed_config"), codecType) {
		e.fail("gateway-codec", last, "Envoy takes no upstream filters whose last is not the codec, and does not start; add name: envoy.filters.http.upstream_codec, of the type %s%s, behind the gateway", typePrefix, codecType)
	}
}

const typePrefix = "type.googleapis.com/"

// checkIdle checks the manager around a gateway. A route's idle_timeout wins over
// its manager's.
func (e *envoy) checkIdle(g *plugin) {
	manager := g.manager.At("stream_idle_timeout")
	routes := routesOf(g.manager.Node)
	ends := !isZero(manager) && len(routes) == 0
	at := manager
	for _, r := range routes {
		own := r.At("route", "idle_timeout")
		if own != nil && !isZero(own) {
			ends, at = true, own
		}
		ends = ends || own == nil && !isZero(manager)
	}
	if !ends {
		return
	}
	if at == nil {
		at = g.manager.Node
	}
	e.fail("gateway-idle", at, "the stream to Redis ends when it is idle for as long as stream_idle_timeout, 5 minutes unless set, or the route's idle_timeout; write stream_idle_timeout: 0s for the gateway, and no other idle_timeout")
}

func isZero(n *yamltree.Node) bool {
	value, ok := duration(n)
	return ok && value == 0
}

// duration reads a google.protobuf.Duration: seconds with an "s".
func duration(n *yamltree.Node) (time.Duration, bool) {
	seconds, ok := strings.CutSuffix(n.Text(), "s")
	number, err := strconv.ParseFloat(seconds, 64)
	return time.Duration(number * float64(time.Second)), ok && err == nil
}
