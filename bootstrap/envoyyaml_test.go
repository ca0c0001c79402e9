package bootstrap_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bootstrap"
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
