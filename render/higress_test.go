package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

func TestHigressLimits(t *testing.T) {
	module, err := filepath.Abs("../build/routelimit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	redis := servertest.StartRedis(t, servers.RedisOptions{})
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	o, err := Higress(onPlatform(t, redis.Addr()), Mesh{})
	p := istioProxy(Mesh{}.context(), upstream.Addr()) // Higress' are Istio's
	all := resources(t, o, err)
	p.apply(t, all)
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), Config: p.bootstrap(t, module),
	})
	limited(t, "http://"+servertest.Address(t, e, p.listeners[0].Name))
}

// The fields are those of the CustomResourceDefinition in Higress 2.2.1, which has nothing else under spec that is used.
func TestHigressOfAPolicyWithoutABodyIsItsWasmPlugin(t *testing.T) {
	s := onPlatform(t, "redis:6379")
	s.Policy = []byte(headerPolicy)
	o, err := Higress(s, Mesh{})
	all := resources(t, o, err)
	want := map[string]any{
		"url": image, "sha256": s.Module.SHA256, "phase": "STATS", "failStrategy": "FAIL_CLOSE",
		"defaultConfig": parsedJSON(t, s.Policy),
		"vmConfig":      map[string]any{"env": []any{map[string]any{"name": "HASH_KEY", "valueFrom": "HOST"}}},
	}
	if diff := cmp.Diff(want, parsedJSON(t, all[1].Spec)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("extensions.higress.io/v1alpha1 WasmPlugin higress-system/routelimit", kinds(all)[1]); diff != "" {
		t.Error(diff)
	}
	if notes := strings.Join(o.Notes, "\n"); !strings.Contains(notes, "FAIL_RELOAD") {
		t.Errorf("notes: %s", notes)
	}
}

func TestALimitIsAnEnvoyFilterWhereThatIsAskedFor(t *testing.T) {
	s := onPlatform(t, "redis:6379")
	s.Policy = []byte(headerPolicy)
	for name, platform := range map[string]func(Setup, Mesh) (Output, error){"istio": Istio, "higress": Higress} {
		o, err := platform(s, Mesh{Patch: true})
		if all := resources(t, o, err); all[1].Kind != "EnvoyFilter" || strings.Contains(strings.Join(o.Notes, "\n"), "FAIL_RELOAD") {
			t.Errorf("%s: %s, %q", name, all[1].Kind, o.Notes)
		}
	}
}
