package render

import (
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"routelimit/bootstrap"
)

// leastBuffer is what a listener holds of a connection: twice the body that is read unless the policy says otherwise.
const leastBuffer = 32 << 10

// publicListener is where clients come in.
func (p *parsed) publicListener(listen *corev3.Address) *listenerv3.Listener {
	var filters []*hcmv3.HttpFilter
	if payloads := p.payloads(); len(payloads) > 0 {
		filters = append(filters, httpFilter(jwtFilter, p.authentication(payloads[0])))
	}
	filters = append(filters, httpFilter(limiterName, p.limiter(localFile(p.Module.File))), router())
	return &listenerv3.Listener{
		Name:    bootstrap.PublicListener,
		Address: listen,
		// A smaller buffer than the body that is waited for would stop reading before it has come.
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(uint32(max(leastBuffer, p.policy.Body.MaxBytes))),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(p.manager(filters))},
		}}}},
	}
}

// manager has what an Envoy at the edge should have, as envoy.yaml says why.
func (p *parsed) manager(filters []*hcmv3.HttpFilter) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix:                   bootstrap.PublicListener,
		UseRemoteAddress:             wrapperspb.Bool(true), // this Envoy appends the client: it is one of client.trusted_hops
		NormalizePath:                wrapperspb.Bool(true),
		MergeSlashes:                 true,
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_REJECT_REQUEST,
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_REJECT_REQUEST,
			IdleTimeout:                  durationpb.New(time.Hour),
		},
		StreamIdleTimeout:     durationpb.New(time.Minute), // what a crash of the module left waiting ends then
		RequestHeadersTimeout: durationpb.New(10 * time.Second),
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{
			MaxConcurrentStreams:        wrapperspb.UInt32(100),
			InitialStreamWindowSize:     wrapperspb.UInt32(64 << 10),
			InitialConnectionWindowSize: wrapperspb.UInt32(1 << 20),
		},
		AccessLog: []*accesslogv3.AccessLog{p.accessLog()},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{
				Name: "all", Domains: []string{"*"},
				Routes: []*routev3.Route{{
					Name:  bootstrap.UpstreamCluster,
					Match: prefix("/"),
					Action: &routev3.Route_Route{Route: &routev3.RouteAction{
						ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: bootstrap.UpstreamCluster},
						Timeout:          durationpb.New(15 * time.Second),
					}},
				}},
			}},
		}},
		HttpFilters: filters,
	}
}

// accessLog is as `routelimit simulate` reads it.
func (p *parsed) accessLog() *accesslogv3.AccessLog {
	fields := map[string]string{
		"start_time":                "%START_TIME%",
		"method":                    "%REQ(:METHOD)%",
		"path":                      "%PATH(NQ)%", // without the query, which may hold what identifies a caller
		"authority":                 "%REQ(:AUTHORITY)%",
		"response_code":             "%RESPONSE_CODE%",
		"response_code_details":     "%RESPONSE_CODE_DETAILS%",
		"duration_ms":               "%DURATION%",
		"downstream_remote_address": "%DOWNSTREAM_REMOTE_ADDRESS%",
		"x_forwarded_for":           "%REQ(X-FORWARDED-FOR)%",
	}
	if payloads := p.payloads(); len(payloads) > 0 {
		fields["user"] = "%DYNAMIC_METADATA(" + jwtFilter + ":" + payloads[0] + ":sub)%"
	}
	format := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, value := range fields {
		format.Fields[name] = structpb.NewStringValue(value)
	}
	return &accesslogv3.AccessLog{
		Name: "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: pack(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
			}},
		})},
	}
}

// upstreamCluster is what is protected.
func (p *parsed) upstreamCluster() *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:           bootstrap.UpstreamCluster,
		ConnectTimeout: durationpb.New(time.Second),
		LoadAssignment: endpoints(bootstrap.UpstreamCluster, p.Upstream),
	}
	resolve(c, p.Upstream)
	return c
}
