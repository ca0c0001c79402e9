package bootstrap

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shipped is the project's envoy.yaml.
func shipped(t *testing.T) *Config {
	t.Helper()
	file, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reread is what Envoy would read of a configuration.
func reread(t *testing.T, c *Config) *Config {
	t.Helper()
	again, err := Parse(c.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestBytesKeepEverything(t *testing.T) {
	c := shipped(t)
	if diff := cmp.Diff(c.root, reread(t, c).root); diff != "" {
		t.Error(diff)
	}
}

func TestAddressesAreThoseOfPortsOnly(t *testing.T) {
	c := shipped(t)
	want := []Address{{"public", "0.0.0.0", 10000}, {"admin", "127.0.0.1", 9901}}
	if diff := cmp.Diff(want, c.Addresses()); diff != "" {
		t.Error(diff)
	}
	if err := c.SetListener("public", "127.0.0.1", 0); err != nil {
		t.Fatal(err)
	}
	c.SetAdmin("127.0.0.1", 0)
	want = []Address{{"public", "127.0.0.1", 0}, {"admin", "127.0.0.1", 0}}
	if diff := cmp.Diff(want, reread(t, c).Addresses()); diff != "" {
		t.Error(diff)
	}
}

func TestSetAdminAddsAnAdminPage(t *testing.T) {
	c, err := Parse([]byte("static_resources: {}"))
	if err != nil {
		t.Fatal(err)
	}
	c.SetAdmin("127.0.0.1", 9901)
	if diff := cmp.Diff([]Address{{"admin", "127.0.0.1", 9901}}, reread(t, c).Addresses()); diff != "" {
		t.Error(diff)
	}
}

// endpoint is the address of the n-th endpoint of a cluster.
func endpoint(t *testing.T, c *Config, cluster string, n int) any {
	t.Helper()
	cl, err := reread(t, c).Cluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	groups := items(entry(cl, "load_assignment", "endpoints"))
	return entry(items(entry(groups[0], "lb_endpoints"))[n], "endpoint", "address")
}

func TestSetUpstreamTakesHostsAndSockets(t *testing.T) {
	for addr, want := range map[string]any{
		"127.0.0.1:81": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": uint64(81)}},
		"[::1]:81":     map[string]any{"socket_address": map[string]any{"address": "::1", "port_value": uint64(81)}},
		"app:81":       map[string]any{"socket_address": map[string]any{"address": "app", "port_value": uint64(81)}},
		"/run/a.sock":  map[string]any{"pipe": map[string]any{"path": "/run/a.sock"}},
	} {
		c := shipped(t)
		if err := c.SetUpstream(addr); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, endpoint(t, c, UpstreamCluster, 0)); diff != "" {
			t.Errorf("%s: %s", addr, diff)
		}
		cl, _ := c.Cluster(UpstreamCluster)
		if dns := cl["type"] == "STRICT_DNS"; dns != (addr == "app:81") {
			t.Errorf("%s: type %v", addr, cl["type"])
		}
	}
}

func TestSetUpstreamRefusesWhatIsNoAddress(t *testing.T) {
	for _, addr := range []string{"", "localhost", ":80", "a:b", "a:0", "a:65536", "http://a:80"} {
		if err := shipped(t).SetUpstream(addr); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("%q: error = %v", addr, err)
		}
	}
}

func TestSetRedisClusterAndBack(t *testing.T) {
	c := shipped(t)
	before, err := c.Cluster(RedisCluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetRedisCluster("127.0.0.1:7001", "redis-2:7002"); err != nil {
		t.Fatal(err)
	}
	got, err := reread(t, c).Cluster(RedisCluster)
	if err != nil {
		t.Fatal(err)
	}
	if got["lb_policy"] != "CLUSTER_PROVIDED" || text(got, "cluster_type", "name") != "envoy.clusters.redis" || got["type"] != nil {
		t.Errorf("cluster = %v", got)
	}
	second := map[string]any{"socket_address": map[string]any{"address": "redis-2", "port_value": uint64(7002)}}
	if diff := cmp.Diff(second, endpoint(t, c, RedisCluster, 1)); diff != "" {
		t.Error(diff)
	}
	if err := c.SetRedis("127.0.0.1:6379"); err != nil {
		t.Fatal(err)
	}
	want, err := shipped(t).Cluster(RedisCluster)
	if err != nil {
		t.Fatal(err)
	}
	back, err := reread(t, c).Cluster(RedisCluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("back at one Redis: %s (before: %v)", diff, before)
	}
}

func TestSetRedisAuth(t *testing.T) {
	for _, tt := range []struct{ user, password string }{{"", "p"}, {"u", "p"}, {"", ""}} {
		c := shipped(t)
		if err := c.SetRedisAuth(tt.user, tt.password); err != nil {
			t.Fatal(err)
		}
		cl, err := reread(t, c).Cluster(RedisCluster)
		if err != nil {
			t.Fatal(err)
		}
		options := entry(cl, "typed_extension_protocol_options", "envoy.filters.network.redis_proxy")
		if text(options, "auth_username", "inline_string") != tt.user || text(options, "auth_password", "inline_string") != tt.password {
			t.Errorf("%v: options = %v", tt, options)
		}
		if (options == nil) != (tt.password == "") {
			t.Errorf("%v: options = %v", tt, options)
		}
	}
}

func TestPluginsAreChanged(t *testing.T) {
	c := shipped(t)
	if err := c.SetModule("/other.wasm"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPolicy(`{"mode": "off"}`); err != nil {
		t.Fatal(err)
	}
	c = reread(t, c)
	var got [][3]string
	for _, p := range c.Plugins() {
		got = append(got, [3]string{p.VMID(), p.Module(), p.Configuration()})
	}
	want := [][3]string{
		{"routelimit", "/other.wasm", `{"mode": "off"}`},
		{"routelimit_gateway", "/other.wasm", `{"role": "gateway"}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p, err := c.Policy(); p != `{"mode": "off"}` || err != nil {
		t.Errorf("policy = %q, %v", p, err)
	}
}

func TestRemovePluginsLeavesTheOtherFilters(t *testing.T) {
	c := shipped(t)
	c.RemovePlugins()
	c = reread(t, c)
	if got := c.Plugins(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	for _, want := range []string{"jwt_authn.v3", "router.v3"} {
		if !strings.Contains(string(c.Bytes()), want) {
			t.Errorf("%s went as well", want)
		}
	}
}

func TestReplacePlaceholderKeysLeavesRealKeysAlone(t *testing.T) {
	c := shipped(t)
	issuer, replaced := c.ReplacePlaceholderKeys(`{"keys": [1]}`)
	if issuer != "https://issuer.example" || !replaced {
		t.Fatalf("issuer %q, %v", issuer, replaced)
	}
	c = reread(t, c)
	if text := string(c.Bytes()); !strings.Contains(text, `{\"keys\": [1]}`) || strings.Contains(text, placeholderKey) {
		t.Errorf("configuration = %s", text)
	}
	if _, again := c.ReplacePlaceholderKeys(`{"keys": [2]}`); again {
		t.Error("keys that somebody owns were replaced")
	}
}

func TestRemoveAccessLogs(t *testing.T) {
	c := shipped(t)
	c.RemoveAccessLogs()
	if strings.Contains(string(c.Bytes()), "access_log") {
		t.Error("an access log is left")
	}
}

func TestEditsSayWhatIsMissing(t *testing.T) {
	c, err := Parse([]byte("admin: {}"))
	if err != nil {
		t.Fatal(err)
	}
	_, noPolicy := c.Policy()
	for name, err := range map[string]error{
		`"public"`:          c.SetListener("public", "127.0.0.1", 1),
		`"upstream"`:        c.SetUpstream("127.0.0.1:1"),
		`"redis"`:           c.SetRedis("127.0.0.1:1"),
		`"redis" `[:7]:      c.SetRedisCluster("127.0.0.1:1"),
		"loads no":          c.SetModule("x"),
		"loads no route":    c.SetPolicy("{}"),
		"no routelimit: no": noPolicy,
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %s, error = %v", name, err)
		}
	}
	if _, replaced := c.ReplacePlaceholderKeys("{}"); replaced {
		t.Error("keys were set where there is no jwt_authn")
	}
}

func TestParseRefusesWhatIsNoConfiguration(t *testing.T) {
	for file, want := range map[string]string{
		"":           "empty",
		"# only":     "empty",
		"a: [":       "not YAML",
		"hello":      "not YAML",
		"a: 1\na: 2": "not YAML",
	} {
		if _, err := Parse([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error = %v, want %q", file, err, want)
		}
	}
}

// By a name Redis is asked for that name; an address has none to ask for.
func TestSetRedisTLSNamesWhomTheCertificateIsFor(t *testing.T) {
	for host, want := range map[string]struct{ sni, kind string }{
		"redis.example": {"redis.example", "DNS"}, "127.0.0.1": {"", "IP_ADDRESS"}, "::1": {"", "IP_ADDRESS"},
	} {
		c, err := Parse([]byte("static_resources: {clusters: [{name: redis}]}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetRedisTLS(host, "/ca.pem"); err != nil {
			t.Fatal(err)
		}
		cl, _ := c.Cluster(RedisCluster)
		typed := entry(cl, "transport_socket", "typed_config")
		names := items(entry(typed, "common_tls_context", "validation_context", "match_typed_subject_alt_names"))
		if len(names) != 1 || text(typed, "sni") != want.sni || text(names[0], "san_type") != want.kind || text(names[0], "matcher", "exact") != host ||
			text(typed, "common_tls_context", "validation_context", "trusted_ca", "filename") != "/ca.pem" {
			t.Errorf("%s: %v", host, typed)
		}
	}
	c, err := Parse([]byte("static_resources: {clusters: [{name: redis, transport_socket: {name: tls}}]}"))
	if err != nil || c.SetRedisTLS("", "") != nil || strings.Contains(string(c.Bytes()), "tls") {
		t.Errorf("TLS stays: %v, %s", err, c.Bytes())
	}
	if c, err := Parse([]byte("static_resources: {}")); err != nil || c.SetRedisTLS("a", "b") == nil {
		t.Errorf("a configuration without the cluster is taken: %v", err)
	}
}
