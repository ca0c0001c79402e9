package render

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	redisproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/redis_proxy/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/internal_upstream/v3"
	rawv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Names on the way to Redis. A cluster and the listener that it leads to have one name.
const (
	gatewayName = "routelimit_gateway" // takes the gRPC framing off
	tunnelName  = "routelimit_redis"   // redis_proxy
	storeName   = "routelimit_store"   // Redis itself, on platforms where somebody else may have a cluster "redis"
)

// link is the way from the limiting plugin to Redis, inside one Envoy:
//
//	cluster redis.cluster -> listener routelimit_gateway -> cluster and listener routelimit_redis -> the store's cluster
type link struct {
	listeners []*listenerv3.Listener
	clusters  []*clusterv3.Cluster
}

// link makes the way to Redis, with the gateway's filter as the platform loads it.
func (p *parsed) link(store string, gateway *hcmv3.HttpFilter) link {
	return link{
		listeners: []*listenerv3.Listener{p.gatewayListener(gateway), p.redisListener(store)},
		clusters: []*clusterv3.Cluster{
			p.streamCluster(),
			internalCluster(tunnelName, tunnelName),
			p.Redis.cluster(store, p.patience()),
		},
	}
}

// patience is how long redis_proxy waits for one node. Answers come in order, so a silent node holds up all others for
// this long: half of what a request waits for.
func (p *parsed) patience() time.Duration { return p.policy.Redis.Timeout / 2 }

// gatewayListener must live as long as Envoy does: no idle timeout, no duration limit.
func (p *parsed) gatewayListener(gateway *hcmv3.HttpFilter) *listenerv3.Listener {
	return internalListener(gatewayName, "envoy.filters.network.http_connection_manager", pack(&hcmv3.HttpConnectionManager{
		StatPrefix:        gatewayName,
		CodecType:         hcmv3.HttpConnectionManager_HTTP2,
		StreamIdleTimeout: durationpb.New(0),
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{
				Name: "all", Domains: []string{"*"},
				Routes: []*routev3.Route{{
					Match: prefix("/"),
					Action: &routev3.Route_Route{Route: &routev3.RouteAction{
						ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: tunnelName},
						Timeout:          durationpb.New(0),
						IdleTimeout:      durationpb.New(0),
						UpgradeConfigs: []*routev3.RouteAction_UpgradeConfig{{
							UpgradeType:   "CONNECT",
							ConnectConfig: &routev3.RouteAction_UpgradeConfig_ConnectConfig{AllowPost: true},
						}},
					}},
				}},
			}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{gateway, router()},
	}))
}

func (p *parsed) redisListener(store string) *listenerv3.Listener {
	return internalListener(tunnelName, "envoy.filters.network.redis_proxy", pack(&redisproxyv3.RedisProxy{
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
	}))
}

// streamCluster is where the module opens its stream.
func (p *parsed) streamCluster() *clusterv3.Cluster {
	c := internalCluster(p.policy.Redis.Cluster, gatewayName)
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(&httpv3.HttpProtocolOptions{
			UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
				ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
					ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
						Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
					},
				},
			},
		}),
	}
	return c
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
