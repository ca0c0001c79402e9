package render

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	redisclusterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/redis/v3"
	redisproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/redis_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Redis is where the counts are: one Redis, or a Redis Cluster.
type Redis struct {
	// Nodes are host:port, or the path of a unix socket. One Redis has one; of a Cluster some are enough.
	Nodes   []string
	Cluster bool
	// User is who Envoy logs in as; "": the default user, if there is a password.
	User     string
	Password Secret
	TLS      *TLS // nil: none
}

// Secret is where Envoy finds a secret; the secret itself stands in no output. The zero value: there is none.
type Secret struct {
	Env  string // an environment variable of Envoy's
	File string // a file where Envoy runs
}

func (s Secret) none() bool { return s == Secret{} }

func (s Secret) source() *corev3.DataSource {
	if s.File != "" {
		return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: s.File}}
	}
	return &corev3.DataSource{Specifier: &corev3.DataSource_EnvironmentVariable{EnvironmentVariable: s.Env}}
}

// TLS is how Envoy knows Redis, and Redis Envoy. All files are where Envoy runs.
type TLS struct {
	CA string // the authority of its certificate, in PEM; "": /etc/ssl/certs/ca-certificates.crt
	// Name is what the certificate of every node has to name. "": the nodes' own names or addresses, each of which is
	// good for each node, since those that a Cluster has besides are not known here.
	Name      string
	Cert, Key string // Envoy's own certificate and its key; "": none
}

const systemCA = "/etc/ssl/certs/ca-certificates.crt"

func (r Redis) check() error {
	switch {
	case len(r.Nodes) == 0:
		return errors.New("no Redis is given; give its host:port")
	case len(r.Nodes) > 1 && !r.Cluster:
		return fmt.Errorf("%d addresses of Redis are given, which only a Redis Cluster can have; say that it is one, or give one address", len(r.Nodes))
	case r.User != "" && r.Password.none():
		return fmt.Errorf("the user %q of Redis has no password; say in which variable or file Envoy finds it", r.User)
	case r.Password.Env != "" && r.Password.File != "":
		return errors.New("the password of Redis is said to be in a variable and in a file; give one")
	}
	for _, node := range r.Nodes {
		if _, err := address(node); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
		if isSocket(node) && (r.Cluster || r.TLS != nil) {
			return fmt.Errorf("redis at the unix socket %s can be neither a Cluster nor behind TLS; give host:port", node)
		}
	}
	if r.TLS != nil && (r.TLS.Cert == "") != (r.TLS.Key == "") {
		return errors.New("Envoy's certificate for Redis and its key belong together; give both or neither")
	}
	return nil
}

// cluster is Envoy's cluster of Redis itself.
func (r Redis) cluster(name string, patience time.Duration) *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:           name,
		ConnectTimeout: durationpb.New(r.connectPatience(patience)), // a node that cannot be reached holds up the others for this long
		LoadAssignment: endpoints(name, r.Nodes...),
	}
	if r.Cluster {
		c.LbPolicy = clusterv3.Cluster_CLUSTER_PROVIDED
		c.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.redis",
			TypedConfig: pack(&redisclusterv3.RedisClusterConfig{
				ClusterRefreshRate:       durationpb.New(2 * time.Second),
				RedirectRefreshInterval:  durationpb.New(time.Second),
				RedirectRefreshThreshold: wrapperspb.UInt32(1),
			}),
		}}
	} else {
		resolve(c, r.Nodes...)
	}
	if !r.Password.none() {
		options := &redisproxyv3.RedisProtocolOptions{AuthPassword: r.Password.source()}
		if r.User != "" {
			options.AuthUsername = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: r.User}}
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{"envoy.filters.network.redis_proxy": pack(options)}
	}
	if r.TLS != nil {
		c.TransportSocket = r.TLS.socket(r.Nodes)
	}
	return c
}

// handshake is what a connection may take with TLS, whose round trips are several: enough for nodes that are far away.
const handshake = 100 * time.Millisecond

// connectPatience is how long a connection may take, where an answer may take patience.
func (r Redis) connectPatience(patience time.Duration) time.Duration {
	if r.TLS != nil {
		return max(patience, handshake)
	}
	return patience
}

func (t *TLS) socket(nodes []string) *corev3.TransportSocket {
	names := []string{t.Name}
	if t.Name == "" {
		names = hosts(nodes)
	}
	valid := &tlsv3.CertificateValidationContext{TrustedCa: file(t.CA, systemCA)}
	sni := ""
	for _, name := range names {
		kind := tlsv3.SubjectAltNameMatcher_IP_ADDRESS
		if _, err := netip.ParseAddr(name); err != nil {
			kind = tlsv3.SubjectAltNameMatcher_DNS
			if sni == "" {
				sni = name
			}
		}
		valid.MatchTypedSubjectAltNames = append(valid.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{
			SanType: kind,
			Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}},
		})
	}
	common := &tlsv3.CommonTlsContext{ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: valid}}
	if t.Cert != "" {
		common.TlsCertificates = []*tlsv3.TlsCertificate{{CertificateChain: file(t.Cert, ""), PrivateKey: file(t.Key, "")}}
	}
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: pack(&tlsv3.UpstreamTlsContext{Sni: sni, CommonTlsContext: common})},
	}
}

func file(name, otherwise string) *corev3.DataSource {
	if name == "" {
		name = otherwise
	}
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

// hosts are those of the nodes, each once.
func hosts(nodes []string) []string {
	var all []string
	for _, node := range nodes {
		if host, _, err := net.SplitHostPort(node); err == nil && !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}
