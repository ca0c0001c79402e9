package render

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"routelimit/bootstrap"
)

// readmePolicy is that of envoy.yaml, which is the README's.
func readmePolicy(t testing.TB) []byte {
	t.Helper()
	file, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found, err := bootstrap.Policies(file)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d policies in envoy.yaml, %v", len(found), err)
	}
	return []byte(found[0].Text)
}

func oneRedis(t testing.TB) Setup {
	return Setup{Policy: readmePolicy(t), Redis: Redis{Nodes: []string{"127.0.0.1:6379"}}}
}

// read reads YAML into a message of Envoy's, as strictly as Envoy does.
func read[M proto.Message](t testing.TB, text []byte, m M) M {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(raw, m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// written is what a reader of the rendered YAML gets.
func written(t testing.TB, s Setup) *bootstrapv3.Bootstrap {
	t.Helper()
	b, err := Bootstrap(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(b)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, text, new(bootstrapv3.Bootstrap))
}

// What is rendered for the README's policy is envoy.yaml: every field of every message, but for the white space in the
// key set of nobody.
func TestTheBootstrapOfTheReadmeIsEnvoyYAML(t *testing.T) {
	file, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := read(t, file, new(bootstrapv3.Bootstrap))
	if diff := cmp.Diff(want, written(t, oneRedis(t)), protocmp.Transform(), sameJSON()); diff != "" {
		t.Errorf("envoy.yaml -, rendered +:\n%s", diff)
	}
}

// sameJSON compares texts without regard to white space, if both are JSON.
func sameJSON() cmp.Option {
	blanks := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return cmp.FilterValues(func(a, b string) bool { return json.Valid([]byte(a)) && json.Valid([]byte(b)) },
		cmp.Comparer(func(a, b string) bool { return blanks(a) == blanks(b) }))
}
