package render

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// behindTLS is an address at which a Redis speaks TLS: the servers at hand are built without it.
func behindTLS(t *testing.T, r *servers.Redis, certificate string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certificate, strings.Replace(certificate, "ca.pem", "key.pem", 1))
	if err != nil {
		t.Fatal(err)
	}
	front, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	go func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial(r.Network(), r.Addr())
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					io.Copy(server, client)
					server.Close()
				}()
				io.Copy(client, server)
			}()
		}
	}()
	return front.Addr().String()
}

// A Redis that cannot show the right name, or none that this authority signed, is not spoken to: a login fails closed.
func TestEnvoyVerifiesRedisAndLogsIn(t *testing.T) {
	redis := servertest.StartRedis(t, servers.RedisOptions{})
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
	authority := certificate(t)
	addr := behindTLS(t, redis, authority)
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for name, tt := range map[string]struct {
		tls  TLS
		want int
	}{
		"its name":          {TLS{CA: authority, Name: "redis.example"}, http.StatusOK},
		"its address":       {TLS{CA: authority}, http.StatusOK},
		"another name":      {TLS{CA: authority, Name: "other.example"}, http.StatusServiceUnavailable},
		"another authority": {TLS{CA: certificate(t), Name: "redis.example"}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			e := servertest.StartEnvoy(t, servers.EnvoyOptions{
				Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), WorkDir: "..",
				Config: rendered(t, Setup{
					Policy: []byte(strings.Replace(string(readmePolicy(t)), "{", `{"redis": {"timeout": "2s"},`, 1)),
					Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Upstream: upstream.Addr(),
					Redis: Redis{Nodes: []string{addr}, User: "routelimit", Password: Secret{File: password}, TLS: &tt.tls},
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
