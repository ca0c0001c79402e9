package render

import (
	"strings"
	"testing"
	"time"
)

func TestSetupsThatCannotWorkAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Setup)
		want   string
	}{
		"no policy":            {func(s *Setup) { s.Policy = []byte("{") }, "line 1"},
		"the gateway's role":   {func(s *Setup) { s.Policy = []byte(gatewayConfig) }, "limits nothing"},
		"a cluster's name":     {func(s *Setup) { s.Policy = []byte(`{"redis": {"cluster": "upstream"}}`) }, "another cluster"},
		"AUTH by the module":   {func(s *Setup) { s.Policy = []byte(`{"redis": {"password_env": "REDIS_PASSWORD"}}`) }, "redis.password_env"},
		"another database":     {func(s *Setup) { s.Policy = []byte(`{"redis": {"database": 3}}`) }, "redis.database"},
		"two kinds of claims":  {func(s *Setup) { s.Policy = []byte(twoPayloads) }, "two providers"},
		"no Redis":             {func(s *Setup) { s.Redis.Nodes = nil }, "no Redis"},
		"a node without port":  {func(s *Setup) { s.Redis.Nodes = []string{"redis"} }, "host:port"},
		"port 0":               {func(s *Setup) { s.Redis.Nodes = []string{"redis:0"} }, "host:port"},
		"an odd host":          {func(s *Setup) { s.Redis.Nodes = []string{"a/b:1"} }, "host:port"},
		"two, and no Cluster":  {func(s *Setup) { s.Redis.Nodes = []string{"a:1", "b:1"} }, "Cluster"},
		"a user alone":         {func(s *Setup) { s.Redis.User = "u" }, "no password"},
		"two passwords":        {func(s *Setup) { s.Redis.Password = Secret{Env: "A", File: "b"} }, "give one"},
		"a socket and TLS":     {func(s *Setup) { s.Redis = Redis{Nodes: []string{"/a"}, TLS: &TLS{}} }, "unix socket"},
		"half a certificate":   {func(s *Setup) { s.Redis.TLS = &TLS{Key: "k"} }, "belong together"},
		"keys of no JSON":      {func(s *Setup) { s.Tokens.KeySet = "x" }, "no JSON"},
		"control characters":   {func(s *Setup) { s.Redis.TLS = &TLS{CA: "a\x00b"} }, "no text"},
		"a policy of no UTF-8": {func(s *Setup) { s.Policy = []byte("{\"$schema\": \"\xff\"}") }, ""},
	} {
		s := oneRedis(t)
		tt.change(&s)
		if _, err := Bootstrap(s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

const twoPayloads = `{"identities": {"a": {"from": "metadata:envoy.filters.http.jwt_authn/one/sub"}, "b": {"from": "metadata:envoy.filters.http.jwt_authn/two/sub"}},
	"default": {"identity": "a|b", "limit": 1, "window": "1m"}}`

// What JSON allows and protobuf does not is said, and is no crash.
func TestPoliciesThatAWasmPluginCannotHold(t *testing.T) {
	s := onPlatform(t, "redis:6379")
	s.Policy = []byte(`{"identities": {"x": {"from": "query:\ud800"}}, "default": {"identity": "x", "limit": 1, "window": "1m"}}`)
	for name, platform := range map[string]func(Setup, Mesh) (Output, error){"istio": Istio, "higress": Higress} {
		if _, err := platform(s, Mesh{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Every platform says it when whatever stands behind the module's address is loaded.
func TestAnUncheckedModuleIsSaid(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	for name, make := range map[string]func(Setup) (Output, error){
		"istio":         func(s Setup) (Output, error) { return Istio(s, Mesh{}) },
		"envoy-gateway": func(s Setup) (Output, error) { return EnvoyGateway(s, EnvoyGateways{}) },
		"higress":       func(s Setup) (Output, error) { return Higress(s, Mesh{}) },
	} {
		for _, c := range []struct {
			module Module
			said   bool
		}{
			{Module{URL: "oci://registry.example/routelimit:1.0"}, true},
			{Module{URL: "oci://registry.example/routelimit:1.0", SHA256: digest}, false},
			{Module{URL: "oci://registry.example/routelimit@sha256:" + digest}, false},
		} {
			s := oneRedis(t)
			s.Module = c.module
			o, err := make(s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := o.YAML()
			if err != nil || strings.Contains(string(text), noChecksum) != c.said || strings.Contains(string(text), "sha256: null") {
				t.Errorf("%s: %+v: said is not %v, or a null is written; %v", name, c.module, c.said, err)
			}
		}
	}
}

// A handshake takes longer than an answer may.
func TestTLSHasTimeForItsHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		tls     *TLS
		timeout string
		want    time.Duration
	}{
		"no TLS":             {nil, "50ms", 25 * time.Millisecond},
		"TLS":                {&TLS{}, "50ms", 100 * time.Millisecond},
		"TLS and slow Redis": {&TLS{}, "1s", 500 * time.Millisecond},
		"no TLS, slow Redis": {nil, "1s", 500 * time.Millisecond},
	} {
		s := Setup{
			Policy: []byte(`{"redis": {"timeout": "` + c.timeout + `"}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`),
			Redis:  Redis{Nodes: []string{"127.0.0.1:6379"}, TLS: c.tls},
		}
		b := written(t, s)
		for _, cluster := range b.StaticResources.Clusters {
			if got := cluster.ConnectTimeout.AsDuration(); cluster.Name == "redis" && got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		if text := string(rendered(t, s)); !strings.Contains(text, "op_timeout: "+patienceOf[c.timeout]) {
			t.Errorf("%s: op_timeout is not %s", name, patienceOf[c.timeout])
		}
	}
}

// patienceOf is half of a timeout as a message of Envoy's has it.
var patienceOf = map[string]string{"50ms": "0.025s", "1s": "0.500s"}
