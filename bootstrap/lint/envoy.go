package lint

import (
	"fmt"
	"strings"

	"routelimit/bootstrap"
	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
)

// Types of Envoy's messages, as their names end.
const (
	managerType = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	redisType   = "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy"
	tcpType     = "envoy.extensions.upstreams.http.tcp.v3.TcpConnectionPoolProto"
	codecType   = "envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"
	jwtType     = "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"
)

// envoy is an Envoy configuration as the checks see it.
type envoy struct {
	file      []byte
	options   Options
	documents []*yamltree.Node
	listeners []*yamltree.Node
	clusters  map[string]*yamltree.Node
	plugins   []*plugin
	found     []Finding
}

// plugin is one place where routelimit is loaded.
type plugin struct {
	placed  bootstrap.Placed
	config  *yamltree.Node // envoy.extensions.wasm.v3.PluginConfig
	manager *manager       // nil where the file holds none around it
	cluster *yamltree.Node // whose upstream filter it is, nil where it is none
	index   int            // among the filters of the manager or the cluster

	policy   *policy.Policy // nil if it is wrong
	declared []*policy.Route
}

// manager is an HTTP connection manager, and the listener that it is in.
type manager struct {
	*yamltree.Node
	listener *yamltree.Node
}

func newEnvoy(file []byte, documents []*yamltree.Node, o Options) *envoy {
	e := &envoy{file: file, options: o, documents: documents, clusters: map[string]*yamltree.Node{}}
	for _, document := range documents {
		document.Walk(func(n *yamltree.Node) {
			if n.At("filter_chains") != nil || n.At("default_filter_chain") != nil {
				e.listeners = append(e.listeners, n)
			}
			for _, cluster := range n.At("clusters").Items() {
				e.clusters[cluster.At("name").Text()] = cluster
			}
			if isType(n, "envoy.config.cluster.v3.Cluster") {
				e.clusters[n.At("name").Text()] = n
			}
		})
	}
	e.findPlugins()
	return e
}

// findPlugins finds all plugins, each with the manager or the cluster around it.
func (e *envoy) findPlugins() {
	around := map[*yamltree.Node]*plugin{} // by the filter's typed_config
	for _, listener := range e.listeners {
		for _, m := range typed(listener, managerType) {
			for i, filter := range m.At("http_filters").Items() {
				around[filter.At("typed_config")] = &plugin{manager: &manager{m, listener}, index: i}
			}
		}
	}
	for _, cluster := range e.clusters {
		for i, filter := range upstreamFilters(cluster) {
			around[filter.At("typed_config")] = &plugin{cluster: cluster, index: i}
		}
	}
	for _, document := range e.documents {
		document.Walk(func(n *yamltree.Node) {
			placed, ok := bootstrap.PlacePlugin(e.file, n)
			if !ok {
				return
			}
			p := around[n]
			if p == nil {
				p = &plugin{}
			}
			p.placed, p.config = placed, n.At("config")
			e.plugins = append(e.plugins, p)
		})
	}
}

// upstreamFilters are the HTTP filters of a cluster.
func upstreamFilters(cluster *yamltree.Node) []*yamltree.Node {
	return httpOptions(cluster).At("http_filters").Items()
}

// httpOptions are how a cluster speaks HTTP.
func httpOptions(cluster *yamltree.Node) *yamltree.Node {
	return cluster.At("typed_extension_protocol_options", "envoy.extensions.upstreams.http.v3.HttpProtocolOptions")
}

// limiting are the plugins that hold a policy, gateways those that hold none.
func (e *envoy) limiting() []*plugin { return e.ofRole(false) }
func (e *envoy) gateways() []*plugin { return e.ofRole(true) }

func (e *envoy) ofRole(gateway bool) []*plugin {
	var some []*plugin
	for _, p := range e.plugins {
		if p.placed.Gateway() == gateway {
			some = append(some, p)
		}
	}
	return some
}

// check runs every check.
func (e *envoy) check() {
	for _, p := range e.limiting() {
		e.readPolicy(p)
		e.checkFailurePolicy(p)
		e.checkVM(p)
		if p.policy == nil || p.policy.Empty {
			continue
		}
		e.checkVariables(p)
		e.checkCluster(p)
		e.checkOpTimeout(p)
		e.checkEntry(p)
		e.checkRedirection(p)
		if p.manager != nil {
			e.checkClient(p)
			e.checkBody(p)
			e.checkClaims(p)
			e.checkMetadata(p)
			e.checkDeclared(p)
		}
	}
	for _, g := range e.gateways() {
		e.checkFailurePolicy(g)
		e.checkGateway(g)
		e.checkDuration(g)
	}
	e.checkStatsTags()
}

func (e *envoy) warn(rule string, n *yamltree.Node, format string, args ...any) {
	e.add(Finding{Rule: rule, Text: fmt.Sprintf(format, args...)}, n)
}

func (e *envoy) fail(rule string, n *yamltree.Node, format string, args ...any) {
	e.add(Finding{Rule: rule, Error: true, Text: fmt.Sprintf(format, args...)}, n)
}

func (e *envoy) add(f Finding, n *yamltree.Node) {
	f.Line, f.Column = n.Line, n.Column
	e.found = append(e.found, f)
}

func isType(n *yamltree.Node, message string) bool {
	return strings.HasSuffix(n.At("@type").Text(), "/"+message)
}

// typed are all messages of a type in a value.
func typed(n *yamltree.Node, message string) []*yamltree.Node {
	var all []*yamltree.Node
	n.Walk(func(m *yamltree.Node) {
		if isType(m, message) {
			all = append(all, m)
		}
	})
	return all
}

// isBootstrap tells a whole configuration from a part of one.
func isBootstrap(document *yamltree.Node) bool { return document.At("static_resources") != nil }
