package render

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	redisproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/redis_proxy/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/internal_upstream/v3"
	rawv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/tcp/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Names on the way to Redis.
const (
	gatewayName = "routelimit_gateway" // the plugin that takes the gRPC framing off, and its listener if it has one
	tunnelName  = "routelimit_redis"   // the listener with redis_proxy, and the cluster that a listener reaches it by
	storeName   = "routelimit_store"   // the cluster of Redis itself, on platforms where somebody else may have a "redis"
)

// link is the way from the limiting plugin to Redis, inside one Envoy.
type link struct {
	listeners []*listenerv3.Listener
	clusters  []*clusterv3.Cluster
}

// link is that of envoy.yaml:
//
//	cluster redis.cluster, with the gateway as its filter -> listener routelimit_redis -> the store's cluster
func (p *parsed) link(store string, gateway *hcmv3.HttpFilter) link {
	return link{
		listeners: []*listenerv3.Listener{p.redisListener(store)},
		clusters:  []*clusterv3.Cluster{p.streamCluster(gateway), p.Redis.cluster(store, p.patience())},
	}
}

// patience is how long redis_proxy waits for one node. Answers come in order, so a silent node holds up all others for
// this long: half of what a request waits for.
func (p *parsed) patience() time.Duration { return p.policy.Redis.Timeout / 2 }

func (p *parsed) redisListener(store string) *listenerv3.Listener {
	proxy := pack(&redisproxyv3.RedisProxy{
		StatPrefix: "routelimit",
		Settings: &redisproxyv3.RedisProxy_ConnPoolSettings{
			OpTimeout:                durationpb.New(p.patience()),
			EnableRedirection:        true,
			MaxBufferSizeBeforeFlush: 4096,
			BufferFlushTimeout:       durationpb.New(20 * time.Microsecond),
		},
		PrefixRoutes: &redisproxyv3.RedisProxy_PrefixRoutes{
			CatchAllRoute: &redisproxyv3.RedisProxy_PrefixRoutes_Route{Cluster: store},
		},
	})
	return internalListener(tunnelName, "envoy.filters.network.redis_proxy", proxy)
}

// streamCluster is where the module opens its stream. The gateway takes the gRPC framing off, and what is left goes on as a
// plain TCP connection. It must live as long as Envoy does: no max_stream_duration.
func (p *parsed) streamCluster(gateway *hcmv3.HttpFilter) *clusterv3.Cluster {
	c := internalCluster(p.policy.Redis.Cluster, tunnelName)
	c.UpstreamConfig = &corev3.TypedExtensionConfig{
		Name: "envoy.filters.connection_pools.http.tcp", TypedConfig: pack(&tcpv3.TcpConnectionPoolProto{}),
	}
	c.TypedExtensionProtocolOptions = http2(&httpv3.HttpProtocolOptions{
		HttpFilters: []*hcmv3.HttpFilter{gateway, httpFilter("envoy.filters.http.upstream_codec", &codecv3.UpstreamCodec{})},
	})
	return c
}

// http2 makes a cluster speak HTTP/2, as gRPC wants it.
func http2(o *httpv3.HttpProtocolOptions) map[string]*anypb.Any {
	o.UpstreamProtocolOptions = &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
		ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
				Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
			},
		},
	}
	return map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(o)}
}

// internalListener exists inside its process only: no port, no socket file.
func internalListener(name, filter string, config *anypb.Any) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name:              name,
		ListenerSpecifier: &listenerv3.Listener_InternalListener{InternalListener: &listenerv3.Listener_InternalListenerConfig{}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: filter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: config},
		}}}},
	}
}

func internalCluster(name, listener string) *clusterv3.Cluster {
	inside := &corev3.Address{Address: &corev3.Address_EnvoyInternalAddress{EnvoyInternalAddress: &corev3.EnvoyInternalAddress{
		AddressNameSpecifier: &corev3.EnvoyInternalAddress_ServerListenerName{ServerListenerName: listener},
	}}}
	raw := &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.raw_buffer",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: pack(&rawv3.RawBuffer{})},
	}
	return &clusterv3.Cluster{
		Name:           name,
		ConnectTimeout: durationpb.New(time.Second),
		TransportSocket: &corev3.TransportSocket{
			Name: "envoy.transport_sockets.internal_upstream",
			ConfigType: &corev3.TransportSocket_TypedConfig{
				TypedConfig: pack(&internalv3.InternalUpstreamTransport{TransportSocket: raw}),
			},
		},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints:   []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{endpoint(inside)}}},
		},
	}
}
