package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"routelimit/bootstrap"
	"routelimit/bridge"
)

// A way is how the module reaches Redis: in its Envoy, or by a bridge beside it. What holds for one holds for the other.
type way struct {
	name string

	public  *place // with the deadlines that ship
	journey *place
	exact   *place
	across  *place
}

var ways = []way{
	{name: "redis_proxy", public: public, journey: journey, exact: exact, across: across},
	{
		name:    "bridge",
		public:  throughBridge("public", "", tree{"cluster": shippedBridge, "timeout": "50ms"}),
		journey: throughBridge("journey", "", tree{"cluster": patientBridge}),
		exact:   throughBridge("exact", exactPolicy(), tree{"cluster": patientBridge}),
		across:  throughBridge("across", across.policy, tree{"cluster": patientBridge}),
	},
}

func eachWay(t *testing.T, test func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

func throughBridge(name, policy string, redis tree) *place {
	p := listen(name+"_bridged", policy)
	p.redis = redis
	return p
}

// shippedBridge has the deadline that the program has by default, patientBridge one for a busy machine.
const (
	shippedBridge = "bridge"
	patientBridge = "patient_bridge"
)

// runningBridge is a bridge in this program.
type runningBridge struct {
	end   context.CancelFunc
	ended chan error
}

// Stop ends it, as SIGTERM does.
func (b *runningBridge) Stop() {
	b.end()
	if err := <-b.ended; err != nil {
		fmt.Fprintf(os.Stderr, "a bridge: %v\n", err)
	}
}

// startBridge serves on a port of loopback, in plain text where secure is nil.
func startBridge(store bridge.Store, timeout time.Duration, secure *tls.Config) (*runningBridge, net.Addr, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	if store.Password == nil {
		store.Password = func() (string, error) { return "", nil }
	}
	store.Network, store.PoolSize = "tcp", 64
	ctx, end := context.WithCancel(context.Background())
	b := &runningBridge{end: end, ended: make(chan error, 1)}
	one := bridge.New(bridge.Options{
		Store: store, Prefixes: []string{"rl"}, Timeout: timeout, TLS: secure, MaxStreams: 1024, MaxMessage: 4 << 20, MaxCommands: 65536,
		SendTimeout: 5 * time.Second, DrainTime: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	go func() { b.ended <- one.Serve(ctx, listener, nil) }()
	return b, listener.Addr(), nil
}

// addBridges starts two bridges beside an Envoy, to the Redis that it has, and adds clusters that lead to them.
func addBridges(c *bootstrap.Config) error {
	own, err := c.Cluster(bootstrap.RedisCluster)
	if err != nil {
		return err
	}
	to := bridge.Store{}
	if own["cluster_type"] != nil {
		to.Cluster, to.Addrs = true, nodes.server.Addrs()[:2]
	} else {
		to.Addrs = []string{store.server.Addr()}
	}
	for name, timeout := range map[string]time.Duration{shippedBridge: 25 * time.Millisecond, patientBridge: 5 * time.Second} {
		b, addr, err := startBridge(to, timeout, nil)
		if err != nil {
			return err
		}
		started = append(started, b)
		cluster, err := bridgeCluster(name, addr)
		if err != nil {
			return err
		}
		c.Add("clusters", cluster)
	}
	return nil
}

// bridgeCluster is what leads to a bridge: HTTP/2, and nothing else.
func bridgeCluster(name string, addr net.Addr) (tree, error) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	return tree{
		"name": name, "connect_timeout": "1s",
		"typed_extension_protocol_options": tree{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": tree{
			"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": tree{"http2_protocol_options": tree{}},
		}},
		"load_assignment": tree{"cluster_name": name, "endpoints": []any{tree{"lb_endpoints": []any{tree{"endpoint": tree{
			"address": tree{"socket_address": tree{"address": host, "port_value": number}},
		}}}}}},
	}, err
}
