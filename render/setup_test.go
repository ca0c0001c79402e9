package render

import (
	"strings"
	"testing"
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
