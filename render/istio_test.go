package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	extensions "istio.io/api/extensions/v1alpha1"
	networking "istio.io/api/networking/v1alpha3"
	corev1 "k8s.io/api/core/v1"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

const image = "oci://registry.example/routelimit:1.0"

// onPlatform is a setup for the README's policy.
func onPlatform(t *testing.T, redis string) Setup {
	return Setup{Policy: readmePolicy(t), Redis: Redis{Nodes: []string{redis}}, Module: Module{URL: image, SHA256: strings.Repeat("ab", 32)}}
}

// headerPolicy reads no body.
const headerPolicy = `{"hash_key_env": "HASH_KEY", "identities": {"key": {"from": "header:x-key", "secret": true}},
	"routes": {"POST /login": {"identity": "ip", "limit": 10, "window": "5m"}}, "default": null}`

// kinds are kind and name of each resource.
func kinds(all []resource) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.APIVersion+" "+r.Kind+" "+r.Metadata.Namespace+"/"+r.Metadata.Name)
	}
	return names
}

func TestIstioLimitsAtGatewaysAndSidecars(t *testing.T) {
	module, err := filepath.Abs("../build/routelimit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	redis := servertest.StartRedis(t, servers.RedisOptions{})
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for name, mesh := range map[string]Mesh{
		"gateway": {}, "sidecar": {Namespace: "shop", Selector: map[string]string{"app": "login"}, Sidecars: true},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.FlushAll(t, redis)
			o, err := Istio(onPlatform(t, redis.Addr()), mesh)
			p := istioProxy(mesh.context(), upstream.Addr())
			p.apply(t, resources(t, o, err))
			e := servertest.StartEnvoy(t, servers.EnvoyOptions{
				Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), Config: p.bootstrap(t, module),
			})
			limited(t, "http://"+servertest.Address(t, e, p.listeners[0].Name))
		})
	}
}

func TestIstioOfAPolicyWithABodyIsAnEnvoyFilter(t *testing.T) {
	o, err := Istio(onPlatform(t, "redis.shop:6379"), Mesh{})
	want := []string{
		"networking.istio.io/v1alpha3 EnvoyFilter istio-ingress/routelimit-link",
		"networking.istio.io/v1alpha3 EnvoyFilter istio-ingress/routelimit",
		"v1 ConfigMap istio-ingress/routelimit-bootstrap",
	}
	if diff := cmp.Diff(want, kinds(resources(t, o, err))); diff != "" {
		t.Error(diff)
	}
}

func TestIstioOfAPolicyWithoutABodyIsAWasmPlugin(t *testing.T) {
	s := onPlatform(t, "redis.shop:6379")
	s.Policy = []byte(headerPolicy)
	o, err := Istio(s, Mesh{Namespace: "shop", Selector: map[string]string{"app": "login"}, Sidecars: true})
	all := resources(t, o, err)
	want := []string{
		"networking.istio.io/v1alpha3 EnvoyFilter shop/routelimit-link",
		"extensions.istio.io/v1alpha1 WasmPlugin shop/routelimit",
		"v1 ConfigMap shop/routelimit-bootstrap",
	}
	if diff := cmp.Diff(want, kinds(all)); diff != "" {
		t.Fatal(diff)
	}
	plugin := new(extensions.WasmPlugin)
	if err := protojson.Unmarshal(all[1].Spec, plugin); err != nil {
		t.Fatal(err)
	}
	config, err := protojson.Marshal(plugin.PluginConfig) // as Istio hands it to the module
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsedJSON(t, []byte(headerPolicy)), parsedJSON(t, config)); diff != "" {
		t.Error(diff)
	}
	switch {
	case plugin.FailStrategy != extensions.FailStrategy_FAIL_RELOAD:
		t.Errorf("fail strategy %v", plugin.FailStrategy)
	case plugin.VmConfig.GetEnv()[0].Name != "HASH_KEY" || plugin.VmConfig.Env[0].ValueFrom != extensions.EnvValueSource_HOST:
		t.Errorf("environment %v", plugin.VmConfig)
	case plugin.Url != image || plugin.Sha256 != s.Module.SHA256:
		t.Errorf("module %s, %s", plugin.Url, plugin.Sha256)
	}
}

func TestIstiosBootstrapOverrideHasTheLabels(t *testing.T) {
	o, err := Istio(onPlatform(t, "redis.shop:6379"), Mesh{})
	all := resources(t, o, err)
	var file corev1.ConfigMap
	if err := json.Unmarshal(all[len(all)-1].raw, &file); err != nil {
		t.Fatal(err)
	}
	got := strictly(t, []byte(file.Data["custom_bootstrap.json"]), new(bootstrapv3.Bootstrap))
	if diff := cmp.Diff(stats(), got.StatsConfig, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// Each role has a vm_id of its own, or a crash of one would take the other along.
func TestIstiosRolesShareNoVM(t *testing.T) {
	o, err := Istio(onPlatform(t, "redis.shop:6379"), Mesh{})
	p := istioProxy(networking.EnvoyFilter_GATEWAY, "127.0.0.1:1")
	p.apply(t, resources(t, o, err))
	var ids []string
	for _, e := range p.extensions {
		ids = append(ids, e.Name+" "+vmID(t, e))
	}
	if diff := cmp.Diff([]string{"routelimit_gateway routelimit_gateway", "routelimit routelimit"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestIstioSaysWhatIsLeftToDo(t *testing.T) {
	s := onPlatform(t, "redis.shop:6379")
	s.Module.SHA256 = ""
	s.Redis.User, s.Redis.Password = "routelimit", Secret{File: "/etc/routelimit/redis/password"}
	s.Policy = bytes.ReplaceAll(s.Policy, []byte("jwt_authn/payload/"), []byte("jwt_authn/claims/"))
	o, err := Istio(s, Mesh{})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(o.Notes, "\n")
	for _, want := range []string{"/etc/routelimit/redis/password", "RequestAuthentication", "jwt_authn/payload/…", "userVolume", "--module-sha256"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %s:\n%s", want, notes)
		}
	}
}

func TestPlatformsNeedAModule(t *testing.T) {
	for name, tt := range map[string]struct {
		module Module
		want   string
	}{
		"none":            {Module{}, "where the module is"},
		"a file":          {Module{URL: "/routelimit.wasm"}, "no address"},
		"another scheme":  {Module{URL: "ftp://a/b"}, "no address"},
		"nothing behind":  {Module{URL: "oci://"}, "no address"},
		"no checksum":     {Module{URL: image, SHA256: "xyz"}, "64 hexadecimal"},
		"half a checksum": {Module{URL: image, SHA256: "abcd"}, "64 hexadecimal"},
	} {
		s := onPlatform(t, "redis:6379")
		s.Module = tt.module
		if _, err := Istio(s, Mesh{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func parsedJSON(t *testing.T, raw []byte) any {
	t.Helper()
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}
