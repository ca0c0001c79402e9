package bootstrap_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/bootstrap"
	"routelimit/policy"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

func envoyYAML(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hint cuts out the commented block that starts with a line that holds marker, up to the next line that is no comment or
// an empty one, and takes the "# " off. indent is what each line gets in front.
func hint(t *testing.T, file, marker, indent string) string {
	t.Helper()
	_, after, found := strings.Cut(file, marker)
	if !found {
		t.Fatalf("envoy.yaml has no %q", marker)
	}
	var block strings.Builder
	for line := range strings.Lines(marker + after) {
		text, comment := strings.CutPrefix(strings.TrimLeft(line, " "), "# ")
		if !comment && block.Len() > 0 {
			break
		}
		block.WriteString(indent + text)
	}
	return block.String()
}

// withCluster does what the comment in envoy.yaml says: deletes the cluster "redis" and takes the "# " off the other.
func withCluster(t *testing.T, file string) string {
	t.Helper()
	const single = "  - name: redis\n"
	before, after, found := strings.Cut(file, single)
	_, rest, ends := strings.Cut(after, "\n\n")
	if !found || !ends {
		t.Fatal(`envoy.yaml has no cluster "redis" that ends with an empty line`)
	}
	return before + hint(t, file, "# - name: redis\n", "  ") + "\n" + rest
}

// withHint adds a commented setting to the cluster "redis".
func withHint(t *testing.T, file, marker string) string {
	t.Helper()
	const single = "  - name: redis\n"
	return strings.Replace(file, single, single+hint(t, file, marker, "  "), 1)
}

func validate(t *testing.T, version string, config []byte) {
	t.Helper()
	err := servers.ValidateEnvoy(t.Context(), servers.EnvoyOptions{
		Binary: servertest.Envoy(t, version), Config: config, Dir: t.TempDir(),
		WorkDir: "..", Env: []string{"REDIS_PASSWORD=secret"},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEnvoyYAMLIsAcceptedByEveryEnvoy(t *testing.T) {
	for _, version := range servers.EnvoyVersions() {
		t.Run(version, func(t *testing.T) { validate(t, version, []byte(envoyYAML(t))) })
	}
}

func TestEnvoyYAMLHintsAreAcceptedByEveryEnvoy(t *testing.T) {
	file := strings.Replace(envoyYAML(t), "/etc/ssl/certs/ca-certificates.crt", certificate(t), 1)
	const auth, tls = "#   typed_extension_protocol_options:\n", "#   transport_socket:\n"
	for name, text := range map[string]string{
		"one Redis, AUTH and TLS":       withHint(t, withHint(t, file, auth), tls),
		"a Redis Cluster":               withCluster(t, file),
		"a Redis Cluster, AUTH and TLS": withHint(t, withHint(t, withCluster(t, file), auth), tls),
	} {
		c, err := bootstrap.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.RemovePlugins() // they have nothing to do with it, and take long to compile
		for _, version := range servers.EnvoyVersions() {
			t.Run(name+"/"+version, func(t *testing.T) { validate(t, version, c.Bytes()) })
		}
	}
}

// certificate writes a self-signed one and returns the file's name.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEnvoyYAMLClusterBlockIsWhatSetRedisClusterMakes(t *testing.T) {
	file := envoyYAML(t)
	byHand, err := bootstrap.Parse([]byte(withCluster(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	byProgram, err := bootstrap.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := byProgram.SetRedisCluster("127.0.0.1:7001", "127.0.0.1:7002"); err != nil {
		t.Fatal(err)
	}
	byProgram, err = bootstrap.Parse(byProgram.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byProgram.Root(), byHand.Root()); diff != "" {
		t.Error(diff)
	}
}

func TestEnvoyRefusesABadPolicyInTheModulesWords(t *testing.T) {
	c, err := bootstrap.Parse([]byte(envoyYAML(t)))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPolicy(`{"rotes": {}}`); err != nil {
		t.Fatal(err)
	}
	err = servers.ValidateEnvoy(t.Context(), servers.EnvoyOptions{
		Binary: servertest.Envoy(t, ""), Config: c.Bytes(), Dir: t.TempDir(), WorkDir: "..",
	})
	var refused *servers.EnvoyConfigError
	if !errors.As(err, &refused) || len(refused.Module) == 0 || !strings.Contains(err.Error(), `rotes: unknown field; did you mean "routes"?`) {
		t.Errorf("error = %v", err)
	}
}

// TestEnvoyYAMLSettingsFitThePolicy holds what Envoy cannot check: settings on both sides that only work together.
func TestEnvoyYAMLSettingsFitThePolicy(t *testing.T) {
	c, err := bootstrap.Parse([]byte(envoyYAML(t)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Policy()
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse([]byte(raw), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cluster(p.Redis.Cluster); err != nil {
		t.Errorf("the link: %v", err)
	}
	public, err := c.Listener(bootstrap.PublicListener)
	if err != nil {
		t.Fatal(err)
	}
	if got := number(t, public, "per_connection_buffer_limit_bytes"); got < float64(p.Body.MaxBytes) {
		t.Errorf("the connection's buffer (%v) is smaller than the body that is waited for (%d)", got, p.Body.MaxBytes)
	}
	redisProxy, err := c.Listener("routelimit_redis")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := c.Cluster(bootstrap.RedisCluster)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"op_timeout":      find(redisProxy, "op_timeout").(string),
		"connect_timeout": find(cluster, "connect_timeout").(string),
	} {
		if d, err := time.ParseDuration(got); err != nil || d >= p.Redis.Timeout {
			t.Errorf("%s is %s, %v; the deadline of a decision is %s", name, got, err, p.Redis.Timeout)
		}
	}
	if find(public, "use_remote_address") != true || !strings.Contains(raw, `"trusted_hops": 1`) {
		t.Error("this Envoy appends the client's address, so it is one of the trusted hops")
	}
	if find(public, "allow_on_headers_stop_iteration") != true {
		t.Error("without allow_on_headers_stop_iteration a body never arrives while the headers are held")
	}
	if find(public, "stream_idle_timeout") == "0s" {
		t.Error("a request that a crash left waiting would hang for ever")
	}
}

// find is the first value of that name in a tree.
func find(tree any, name string) any {
	switch v := tree.(type) {
	case map[string]any:
		if value, ok := v[name]; ok {
			return value
		}
		for _, inner := range v {
			if value := find(inner, name); value != nil {
				return value
			}
		}
	case []any:
		for _, inner := range v {
			if value := find(inner, name); value != nil {
				return value
			}
		}
	}
	return nil
}

func number(t *testing.T, tree any, name string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(fmt.Sprint(find(tree, name)), 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return n
}
