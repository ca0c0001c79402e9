package render

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// listenerLink is the way to Redis where the gateway comes by ECDS: a filter of a listener, as every plugin of Istio's is, and
// not of a cluster, for which a proxy would wait before it asks for its listeners.
//
//	cluster redis.cluster -> listener routelimit_gateway -> cluster and listener routelimit_redis -> the store's cluster
func (p *parsed) listenerLink(store string, gateway *hcmv3.HttpFilter) link {
	stream := internalCluster(p.policy.Redis.Cluster, gatewayName)
	stream.TypedExtensionProtocolOptions = http2(&httpv3.HttpProtocolOptions{})
	return link{
		listeners: []*listenerv3.Listener{gatewayListener(gateway), p.redisListener(store)},
		clusters: []*clusterv3.Cluster{
			stream, internalCluster(tunnelName, tunnelName), p.Redis.cluster(store, p.patience()),
		},
	}
}

// gatewayListener must live as long as Envoy does: no idle timeout, no duration limit.
func gatewayListener(gateway *hcmv3.HttpFilter) *listenerv3.Listener {
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
