package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	"routelimit/bridge"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// The secrets of these tests. None may be seen in what an Envoy tells.
const (
	storePassword = "hush-store-password"
	wrongPassword = "hush-wrong-password"
	hashKey       = "hush-hash-key-of-32-bytes-length"
)

// storeLink is one Redis as people have it, and the way to it.
type storeLink struct {
	name   string
	fails  string // the kind of its failures; "": it decides
	direct bool   // without redis_proxy
	redis  tree   // of the policy
	set    func(store, proxy tree, c *bootstrap.Config, name string) error
	client func() redis.Cmdable // looks at what was counted
}

// aclLine are the rules of docs/redis.md for somebody, with the test's password.
func aclLine(t testing.TB, whose string) []any {
	t.Helper()
	page, err := os.ReadFile("../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- acl: "+whose+" -->\n```\n")
	text, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatalf("the page has no line for %s", whose)
	}
	var args []any
	for _, word := range strings.Fields(text) {
		args = append(args, strings.ReplaceAll(word, ">PASSWORD", ">"+storePassword))
	}
	return args
}

func admitUser(t testing.TB, c *redis.Client, whose string) {
	t.Helper()
	if err := c.Do(t.Context(), aclLine(t, whose)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// upstreamTLS is how Envoy speaks to a server whose certificate has a name.
func upstreamTLS(authority, name string) tree {
	return tree{"name": "envoy.transport_sockets.tls", "typed_config": tree{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", "sni": name,
		"common_tls_context": tree{"validation_context": tree{
			"trusted_ca":                    tree{"filename": authority},
			"match_typed_subject_alt_names": []any{tree{"san_type": "DNS", "matcher": tree{"exact": name}}},
		}},
	}}
}

// proxyAuth is what redis_proxy logs in with.
func proxyAuth(user string, password tree) tree {
	return tree{"envoy.filters.network.redis_proxy": tree{
		"@type":         "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions",
		"auth_username": tree{"inline_string": user}, "auth_password": password,
	}}
}

// makeCluster makes a store a Redis Cluster.
func makeCluster(store tree) {
	store["lb_policy"] = "CLUSTER_PROVIDED"
	store["cluster_type"] = tree{"name": "envoy.clusters.redis", "typed_config": tree{
		"@type":                "type.googleapis.com/envoy.extensions.clusters.redis.v3.RedisClusterConfig",
		"cluster_refresh_rate": "2s", "redirect_refresh_interval": "1s", "redirect_refresh_threshold": 1,
	}}
}

// TestRedisAsPeopleHaveIt decides through each kind of Redis and each way to it that docs/redis.md describes, with one
// Envoy. What is not to be trusted, or does not let us in, decides nothing.
func TestRedisAsPeopleHaveIt(t *testing.T) {
	files, others := servertest.Certificates(t, "redis.example"), servertest.Certificates(t, "redis.example")
	secure := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.TLSRedis(t), TLS: files.Redis(), Password: storePassword})
	valkey := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.Redis(t, "9.1.2"), Password: storePassword})
	old := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.Redis(t, "6.2.5"), Password: storePassword})
	shards := servertest.StartCluster(t, servers.ClusterOptions{Binary: servertest.TLSRedis(t), Primaries: 3, TLS: files.Redis(), Password: storePassword})
	named := servertest.StartCluster(t, servers.ClusterOptions{Binary: servertest.Redis(t, "8.2.3"), Primaries: 3,
		Args: []string{"--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname"}})
	behind := servertest.StartCluster(t, servers.ClusterOptions{Binary: servertest.Redis(t, "8.2.3"), Primaries: 3})
	outside := putBehindNAT(t, behind)
	admitUser(t, secure.Client(), "module")
	admitUser(t, valkey.Client(), "module")
	admitUser(t, old.Client(), "module with a database")
	for _, node := range shards.Nodes {
		admitUser(t, node.Client(), "module on a Cluster")
	}
	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte(storePassword), 0o600); err != nil {
		t.Fatal(err)
	}
	inFile, inEnvironment := tree{"filename": passwordFile}, tree{"environment_variable": "STORE_PASSWORD"}
	third := redis.NewClient(func() *redis.Options { o := *old.Client().Options(); o.DB = 3; return &o }())
	defer third.Close()
	envoys := servertest.Certificates(t, "envoy.example") // of a bridge's clients
	certificate, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	overTLS, bridgeAddr, err := startBridge(bridge.Store{Addrs: []string{secure.TLSAddr()}, User: "routelimit",
		TLS: &tls.Config{RootCAs: files.Pool(), ServerName: "redis.example"}, Password: func() (string, error) { return storePassword, nil }}, 5*time.Second,
		&tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: envoys.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(overTLS.Stop)

	to := func(socket, auth tree, addrs ...string) func(tree, tree, *bootstrap.Config, string) error {
		return func(store, _ tree, c *bootstrap.Config, name string) error {
			if socket != nil {
				store["transport_socket"] = socket
			}
			if auth != nil {
				store["typed_extension_protocol_options"] = auth
			}
			return c.SetEndpoints(name, addrs...)
		}
	}
	good := upstreamTLS(files.Authority, "redis.example")
	links := []storeLink{
		{name: "tls_user_file", set: to(good, proxyAuth("routelimit", inFile), secure.TLSAddr()), client: clientOf(secure)},
		{name: "tls_environment", set: to(good, proxyAuth("routelimit", inEnvironment), secure.TLSAddr()), client: clientOf(secure)},
		{name: "tls_wrong_authority", fails: "upstream_failure", set: to(upstreamTLS(others.Authority, "redis.example"), proxyAuth("routelimit", inFile), secure.TLSAddr())},
		{name: "tls_wrong_name", fails: "upstream_failure", set: to(upstreamTLS(files.Authority, "other.example"), proxyAuth("routelimit", inFile), secure.TLSAddr())},
		{name: "wrong_password", fails: "auth", set: to(good, proxyAuth("routelimit", tree{"inline_string": wrongPassword}), secure.TLSAddr())},
		{name: "no_password", fails: "auth", set: to(nil, nil, valkey.Addr())},
		{name: "valkey", set: to(nil, proxyAuth("routelimit", inFile), valkey.Addr()), client: clientOf(valkey)},
		{name: "cluster_tls", client: func() redis.Cmdable { return shards.Client() }, set: func(store, proxy tree, c *bootstrap.Config, name string) error {
			makeCluster(store)
			return to(good, proxyAuth("routelimit", inFile), shards.Nodes[0].TLSAddr(), shards.Nodes[1].TLSAddr())(store, proxy, c, name)
		}},
		{name: "cluster_names", client: func() redis.Cmdable { return named.Client() }, set: func(store, proxy tree, c *bootstrap.Config, name string) error {
			makeCluster(store)
			store["dns_lookup_family"] = "V4_ONLY"
			proxy["dns_cache_config"] = tree{"name": "redis", "dns_lookup_family": "V4_ONLY"}
			return to(nil, nil, named.Addrs()[:2]...)(store, proxy, c, name)
		}},
		{name: "cluster_nat", client: func() redis.Cmdable { return behind.Client() }, set: func(store, proxy tree, c *bootstrap.Config, name string) error {
			makeCluster(store)
			return to(nil, nil, outside...)(store, proxy, c, name)
		}},
		{name: "direct_database", direct: true, client: func() redis.Cmdable { return third }, set: to(nil, nil, old.Addr()),
			redis: tree{"username_env": "STORE_USER", "password_env": "STORE_PASSWORD", "database": 3}},
		{name: "direct_tls", direct: true, client: clientOf(secure), set: to(good, nil, secure.TLSAddr()),
			redis: tree{"username_env": "STORE_USER", "password_env": "STORE_PASSWORD"}},
		{name: "direct_default_user", direct: true, client: clientOf(valkey), set: to(nil, nil, valkey.Addr()), redis: tree{"password_env": "STORE_PASSWORD"}},
		{name: "direct_wrong", fails: "auth", direct: true, set: to(nil, nil, valkey.Addr()), redis: tree{"password_env": "WRONG_PASSWORD"}},
		{name: "direct_no_database", fails: "auth", direct: true, set: to(nil, nil, valkey.Addr()), redis: tree{"password_env": "STORE_PASSWORD", "database": 999}},
		{name: "direct_silent_about_auth", fails: "auth", set: to(nil, proxyAuth("routelimit", inFile), valkey.Addr()), redis: tree{"password_env": "STORE_PASSWORD"}}, // behind redis_proxy
		{name: "bridge", client: clientOf(secure), redis: tree{"cluster": "bridge_with_certificate"}, set: nothing},
		{name: "bridge_wrong_certificate", fails: "disconnected", redis: tree{"cluster": "bridge_with_wrong"}, set: nothing},
		{name: "bridge_no_certificate", fails: "disconnected", redis: tree{"cluster": "bridge_without"}, set: nothing},
	}
	e := startForStores(t, links, func(c *bootstrap.Config) error {
		for name, shown := range map[string]*servertest.Files{"bridge_with_certificate": envoys, "bridge_with_wrong": files, "bridge_without": nil} {
			cluster, err := bridgeCluster(name, bridgeAddr)
			if err != nil {
				return err
			}
			cluster["transport_socket"] = bridgeTLS(files.Authority, shown)
			c.Add("clusters", cluster)
		}
		return nil
	})
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) { l.check(t, e) })
	}
	checkNothingIsTold(t, e)
}

func nothing(tree, tree, *bootstrap.Config, string) error { return nil }

// bridgeTLS is how Envoy speaks to a bridge, and shows a certificate, if there is one.
func bridgeTLS(authority string, shown *servertest.Files) tree {
	socket := upstreamTLS(authority, "redis.example")
	common := socket["typed_config"].(tree)["common_tls_context"].(tree)
	common["alpn_protocols"] = []any{"h2"}
	if shown != nil {
		common["tls_certificates"] = []any{tree{"certificate_chain": tree{"filename": shown.Certificate}, "private_key": tree{"filename": shown.Key}}}
	}
	return socket
}

func clientOf(r *servers.Redis) func() redis.Cmdable {
	return func() redis.Cmdable { return r.Client() }
}

// check asks through the link, on both workers in all likelihood.
func (l *storeLink) check(t *testing.T, e *servers.Envoy) {
	path := "/" + l.name
	at := &place{name: l.name}
	if l.fails != "" {
		before := total(t, e, failuresOf(l.fails))
		checkUnavailable(t, dial(t, e, at, "").get(path))
		if n := total(t, e, failuresOf(l.fails)); n <= before {
			t.Errorf("no failure was counted as %s", l.fails)
		}
		return
	}
	steadyWindow(t, store.get(t))
	// The first connections may take longer than a request waits.
	eventually(t, "it decides", func() error { return decided(dial(t, e, at, "").get(path+"/warm", "x-key", "hush-key")) })
	var clients []*client
	for range 8 {
		clients = append(clients, dial(t, e, at, ""))
	}
	var got []int
	for _, a := range parallel(t, clients, 3, func(c *client) (answer, error) { return c.try("GET", path, "") }) {
		got = append(got, a.status)
	}
	slices.Sort(got)
	if err := differ(passThenRefuse(9, 24), got); err != nil {
		t.Error(err)
	}
	if err := differ(counts{"w300": 9}, stored(t, l.client(), "rl:{GET:"+path+"|all}")); err != nil {
		t.Error(err)
	}
}

// checkNothingIsTold looks for the secrets wherever an Envoy tells what it has and does.
func checkNothingIsTold(t *testing.T, e *servers.Envoy) {
	t.Helper()
	for what, path := range map[string]string{"configuration": "/config_dump?include_eds", "metrics": "/stats", "clusters": "/clusters", "init dump": "/init_dump", "server info": "/server_info"} {
		text, err := e.Get(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 || shows(string(text)) {
			at := strings.Index(strings.ToLower(string(text)), hush)
			t.Errorf("%s has %d bytes and shows a secret: %.200s", what, len(text), text[max(0, at-100):])
		}
	}
	if shows(e.Log()) {
		t.Error("the log shows a secret")
	}
	if n := logged(e, 0, "Redis refuses AUTH, by WRONGPASS; correct what the variables of redis.username_env and redis.password_env hold"); n == 0 {
		t.Error("no line says that AUTH is refused")
	}
}

// startForStores runs envoy.yaml with a link and a listener for each store.
func startForStores(t *testing.T, links []storeLink, more func(*bootstrap.Config) error) *servers.Envoy {
	t.Helper()
	store.get(t)
	c, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	c.SetAdmin("127.0.0.1", 0)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.SetListener(public.name, "127.0.0.1", 0))
	check(c.SetUpstream(upstream.get(t).Addr()))
	check(more(c))
	for _, l := range links {
		link, err := c.AddLink(l.name)
		check(err)
		link.Proxy["op_timeout"] = "5s"
		to, err := c.Cluster(link.Store)
		check(err)
		to["connect_timeout"] = "5s"
		check(l.set(to, link.Proxy, c, link.Store))
		if l.direct {
			check(c.LeadDirectly(link.Cluster, link.Store))
			way, err := c.Cluster(link.Cluster)
			check(err)
			way["connect_timeout"] = "5s"
			if to["transport_socket"] != nil {
				way["transport_socket"] = to["transport_socket"]
			}
		}
		p := &place{name: l.name, redis: l.redis, policy: fmt.Sprintf(`{"hash_key_env": "HASH_KEY",
			"identities": {"key": {"from": "header:x-key", "secret": true}},
			"routes": {"GET /%s": {"identity": "all", "limit": 9, "window": "5m", "algorithm": "fixed_window", "on_error": "closed"},
				"GET /%s/warm": {"identity": "key", "limit": 100000, "window": "5m", "on_error": "closed"}}, "default": null}`, l.name, l.name)}
		if p.redis["cluster"] == nil {
			p.redis = mergedTree(tree{"cluster": link.Cluster}, l.redis)
		}
		listener, err := p.listener(c)
		check(err)
		c.Add("listeners", listener)
	}
	seesVariables(c.Root())
	binary, err := servers.NewToolbox(os.Stderr).Envoy(t.Context(), os.Getenv("ENVOY_VERSION"))
	check(err)
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{
		Binary: binary, Config: c.Bytes(), WorkDir: "..", Concurrency: 2,
		Env:  []string{"STORE_PASSWORD=" + storePassword, "WRONG_PASSWORD=" + wrongPassword, "STORE_USER=routelimit", "HASH_KEY=" + hashKey},
		Args: []string{"--file-flush-interval-msec", "100"},
	})
	return e
}

func mergedTree(trees ...tree) tree {
	all := tree{}
	for _, t := range trees {
		for name, value := range t {
			all[name] = value
		}
	}
	return all
}

// seesVariables hands some of Envoy's environment to the limiting VM.
func seesVariables(value any) {
	switch v := value.(type) {
	case tree:
		if vm, ok := v["vm_config"].(tree); ok && vm["vm_id"] == "routelimit" {
			vm["environment_variables"] = tree{"host_env_keys": []any{"STORE_PASSWORD", "WRONG_PASSWORD", "STORE_USER", "HASH_KEY"}}
		}
		for _, inner := range v {
			seesVariables(inner)
		}
	case []any:
		for _, inner := range v {
			seesVariables(inner)
		}
	}
}
