package render

import (
	"fmt"
	"path/filepath"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"routelimit/bootstrap"
)

// Envoy is a bootstrap that Envoy starts with as it is.
func Envoy(s Setup) (Output, error) {
	b, err := Bootstrap(s)
	if err != nil {
		return Output{}, err
	}
	p, err := s.parse()
	if err != nil {
		return Output{}, err
	}
	o := Output{Objects: []any{b}, Notes: append([]string{p.moduleNote()}, p.notes()...)}
	if len(p.payloads()) > 0 && s.Tokens.KeySet == "" {
		o.Notes = append(o.Notes, "The policy reads claims of tokens, and no token is good before the keys of your issuer are in: give --jwt-issuer and --jwt-keys.")
	}
	return o, nil
}

// moduleNote says which file has to be there, since nothing starts without it.
func (p *parsed) moduleNote() string {
	if filepath.IsAbs(p.Module.File) {
		return fmt.Sprintf("Envoy reads the module from %s, which has to be there.", p.Module.File)
	}
	return fmt.Sprintf("Envoy reads the module from %s, seen from the folder where Envoy is started: start it there, or give --module with the whole path.", p.Module.File)
}

// Bootstrap is a whole Envoy in front of one upstream: what envoy.yaml has, for this policy and this Redis. The error is
// the policy's, as policy.Parse gives it, or says which other part of the setup cannot be used.
func Bootstrap(s Setup) (*bootstrapv3.Bootstrap, error) {
	p, err := s.parse()
	if err != nil {
		return nil, err
	}
	if keys := p.payloads(); len(keys) > 1 {
		return nil, fmt.Errorf("the policy reads claims of jwt_authn under %q and %q, which two providers have to write; read one, or start from envoy.yaml", keys[0], keys[1])
	}
	listen, err := socketAddress(p.Listen)
	if err != nil {
		return nil, fmt.Errorf("the listener for clients: %w", err)
	}
	admin, err := socketAddress(p.Admin)
	if err != nil {
		return nil, fmt.Errorf("the admin page: %w", err)
	}
	if _, err := address(p.Upstream); err != nil {
		return nil, fmt.Errorf("the upstream: %w", err)
	}
	way := p.link(bootstrap.RedisCluster, httpFilter(gatewayName, gateway(localFile(p.Module.File))))
	return &bootstrapv3.Bootstrap{
		Admin:               &bootstrapv3.Admin{Address: admin},
		BootstrapExtensions: []*corev3.TypedExtensionConfig{internalListeners()},
		StatsConfig:         stats(),
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Listeners: append([]*listenerv3.Listener{p.publicListener(listen)}, way.listeners...),
			Clusters:  append([]*clusterv3.Cluster{p.upstreamCluster()}, way.clusters...),
		},
	}, nil
}

// internalListeners lets an Envoy have listeners inside its process.
func internalListeners() *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{
		Name: "envoy.bootstrap.internal_listener", TypedConfig: pack(&internalv3.InternalListener{}),
	}
}

// stats makes labels out of the names of the module's metrics, and gives its histograms buckets that suit them.
func stats() *metricsv3.StatsConfig {
	c := &metricsv3.StatsConfig{
		HistogramBucketSettings: []*metricsv3.HistogramBucketSettings{
			buckets("routelimit_decision_us", 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000, 20000, 30000, 50000, 100000),
			buckets("routelimit_batch_commands", 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
		},
	}
	for _, label := range []string{"route", "limit", "outcome", "kind"} {
		c.StatsTags = append(c.StatsTags, &metricsv3.TagSpecifier{
			TagName: label, TagValue: &metricsv3.TagSpecifier_Regex{Regex: `(\.` + label + `=\.(.*?);)`},
		})
	}
	return c
}

func buckets(metric string, bounds ...float64) *metricsv3.HistogramBucketSettings {
	return &metricsv3.HistogramBucketSettings{
		Match:   &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "wasmcustom." + metric}},
		Buckets: bounds,
	}
}
