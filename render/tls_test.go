package render

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// A Redis that cannot show the right name, or none that this authority signed, is not spoken to: a login fails closed.
func TestEnvoyVerifiesRedisAndLogsIn(t *testing.T) {
	files := servertest.Certificates(t, "redis.example")
	redis := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.TLSRedis(t), TLS: files.Redis()})
	if err := redis.Client().Do(t.Context(), userRules(t, "routelimit", "secret")...).Err(); err != nil {
		t.Fatal(err)
	}
	if err := redis.Client().Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", "-@all", "+ping").Err(); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for name, tt := range map[string]struct {
		tls  TLS
		want int
	}{
		"its name":          {TLS{CA: files.Authority, Name: "redis.example"}, http.StatusOK},
		"its address":       {TLS{CA: files.Authority}, http.StatusOK},
		"another name":      {TLS{CA: files.Authority, Name: "other.example"}, http.StatusServiceUnavailable},
		"another authority": {TLS{CA: servertest.Certificates(t).Authority, Name: "redis.example"}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			e := servertest.StartEnvoy(t, servers.EnvoyOptions{
				Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), WorkDir: "..",
				Config: rendered(t, Setup{
					Policy: []byte(strings.Replace(string(readmePolicy(t)), "{", `{"redis": {"timeout": "2s"},`, 1)),
					Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Upstream: upstream.Addr(),
					Redis: Redis{Nodes: []string{redis.TLSAddr()}, User: "routelimit", Password: Secret{File: password}, TLS: &tt.tls},
				}),
			})
			if got := login(t.Context(), t, "http://"+servertest.Address(t, e, "public")); got != tt.want {
				t.Errorf("a login gets %d, want %d", got, tt.want)
			}
			dump, err := e.ConfigDump(t.Context())
			if err != nil || strings.Contains(string(dump), `"secret"`) {
				t.Errorf("/config_dump shows the password, or %v", err)
			}
		})
	}
}
