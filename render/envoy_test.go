package render

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// check lets the real Envoy judge a configuration.
func check(t *testing.T, config []byte, env ...string) {
	t.Helper()
	err := servers.ValidateEnvoy(t.Context(), servers.EnvoyOptions{
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), Config: config, Dir: t.TempDir(), WorkDir: "..", Env: env,
	})
	if err != nil {
		t.Error(err)
	}
}

func rendered(t *testing.T, s Setup) []byte {
	t.Helper()
	b, err := Bootstrap(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEnvoyTakesEveryKindOfBootstrap(t *testing.T) {
	secret := t.TempDir() + "/password"
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := servertest.Certificates(t)
	everything := func(r Redis) Setup {
		return Setup{
			Policy: []byte(strings.Replace(string(readmePolicy(t)), "{", `{"hash_key_env": "HASH_KEY", "body": {"max_bytes": 65536}, "redis": {"timeout": "500ms", "cluster": "counts"},`, 1)),
			Redis:  r, Upstream: "localhost:8080", Listen: "[::1]:0", Admin: "127.0.0.1:0",
		}
	}
	for name, s := range map[string]Setup{
		"one Redis": oneRedis(t),
		"one Redis by name, TLS and AUTH by file": everything(Redis{
			Nodes: []string{"localhost:6379"}, User: "routelimit", Password: Secret{File: secret}, TLS: &TLS{CA: files.Authority},
		}),
		"a Cluster, mutual TLS and AUTH by the environment": everything(Redis{
			Nodes: []string{"127.0.0.1:7001", "redis-2:7001"}, Cluster: true, Password: Secret{Env: "PASSWORD"},
			TLS: &TLS{CA: files.Authority, Name: "redis.example", Cert: files.Certificate, Key: files.Key},
		}),
		"a unix socket": everything(Redis{Nodes: []string{"/run/redis.sock"}}),
	} {
		t.Run(name, func(t *testing.T) { check(t, rendered(t, s), "PASSWORD=secret", "HASH_KEY=0123456789abcdef") })
	}
}

func TestARenderedEnvoyLimits(t *testing.T) {
	redis := servertest.StartRedis(t, servers.RedisOptions{})
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), WorkDir: "..",
		Config: rendered(t, Setup{
			Policy: readmePolicy(t), Redis: Redis{Nodes: []string{redis.Addr()}},
			Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Upstream: upstream.Addr(),
		}),
	})
	limited(t, "http://"+servertest.Address(t, e, "public"))
	metrics, err := e.Get(t.Context(), "/stats/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	const refused = `routelimit_requests_total{route="POST:/login",limit="pair",outcome="refused"} 1`
	if !strings.Contains(string(metrics), refused) {
		t.Errorf("the metrics lack %s", refused)
	}
}

// limited sends the README's eleven logins, of which the last is refused.
func limited(t *testing.T, url string) {
	t.Helper()
	for i := range 11 {
		want := http.StatusOK
		if i == 10 {
			want = http.StatusTooManyRequests
		}
		if got := login(t.Context(), t, url); got != want {
			t.Fatalf("login %d: %d, want %d", i+1, got, want)
		}
	}
}

func login(ctx context.Context, t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/login", strings.NewReader(`{"username": "alice"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("content-type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
