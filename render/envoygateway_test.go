package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/ohler55/ojg/jp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// gatewayObjects are the three objects of an output for Envoy Gateway, read strictly by its types.
func gatewayObjects(t *testing.T, o Output, err error) (*eg.EnvoyProxy, *eg.EnvoyExtensionPolicy, *eg.EnvoyPatchPolicy) {
	t.Helper()
	all := resources(t, o, err)
	if diff := cmp.Diff([]string{"EnvoyProxy", "EnvoyExtensionPolicy", "EnvoyPatchPolicy"}, []string{all[0].Kind, all[1].Kind, all[2].Kind}); diff != "" {
		t.Fatal(diff)
	}
	proxy, extension, patch := new(eg.EnvoyProxy), new(eg.EnvoyExtensionPolicy), new(eg.EnvoyPatchPolicy)
	for i, into := range []any{proxy, extension, patch} {
		decode(t, all[i].raw, into)
	}
	return proxy, extension, patch
}

// decode reads JSON into a type of Go's, and no field that it does not have.
func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
}

func TestEnvoyGatewayLimits(t *testing.T) {
	module, err := filepath.Abs("../build/routelimit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	redis := servertest.StartRedis(t, servers.RedisOptions{})
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	o, err := EnvoyGateway(onPlatform(t, redis.Addr()), EnvoyGateways{})
	proxy, extension, patch := gatewayObjects(t, o, err)

	listener := madeListener(t, extension, module)
	for _, p := range patch.Spec.JSONPatches {
		listener = patched(t, listener, p)
	}
	// The module is mounted at another place here.
	value := strings.ReplaceAll(*proxy.Spec.Bootstrap.Value, moduleFile, module)
	b := gatewayBootstrap(t)
	proto.Merge(b, strictly(t, fromYAML(t, []byte(value)), new(bootstrapv3.Bootstrap))) // as Envoy Gateway does
	b.StaticResources.Listeners = append(b.StaticResources.Listeners, listener)
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, &clusterv3.Cluster{
		Name: "app", LoadAssignment: endpoints("app", upstream.Addr()),
	})
	config, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	e := servertest.StartEnvoy(t, servers.EnvoyOptions{Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), Config: config})
	limited(t, "http://"+servertest.Address(t, e, listener.Name))
}

// gatewayBootstrap is a small bootstrap as Envoy Gateway makes one.
func gatewayBootstrap(t *testing.T) *bootstrapv3.Bootstrap {
	t.Helper()
	admin, err := socketAddress("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &bootstrapv3.Bootstrap{
		Admin:           &bootstrapv3.Admin{Address: admin},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{},
	}
}

// madeListener is a listener as Envoy Gateway makes it for an EnvoyExtensionPolicy (internal/xds/translator/wasm.go):
// the filter is disabled, and a route enables it. Its module is a file here; there Envoy fetches it.
func madeListener(t *testing.T, policy *eg.EnvoyExtensionPolicy, module string) *listenerv3.Listener {
	t.Helper()
	id := "envoyextensionpolicy/" + policy.Namespace + "/" + policy.Name + "/wasm/0"
	plugin := policy.Spec.Wasm[0]
	filter := httpFilter("envoy.filters.http.wasm/"+id, &wasmfilterv3.Wasm{Config: &wasmv3.PluginConfig{
		Name:          *plugin.Name,
		Configuration: pack(wrapperspb.String(string(plugin.Config.Raw))),
		FailOpen:      *plugin.FailOpen,
		Vm: &wasmv3.PluginConfig_VmConfig{VmConfig: &wasmv3.VmConfig{
			VmId: id, Runtime: "envoy.wasm.runtime.v8", Code: localFile(module),
		}},
	}})
	filter.Disabled = true
	address, err := socketAddress("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "http-10080", UseRemoteAddress: wrapperspb.Bool(true),
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: prefix("/"),
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{
					ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "app"},
				}},
				TypedPerFilterConfig: map[string]*anypb.Any{filter.Name: pack(&routev3.FilterConfig{Config: &anypb.Any{}})},
			}}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{filter, router()},
	}
	return &listenerv3.Listener{
		Name: "default/eg/http", Address: address, PerConnectionBufferLimitBytes: wrapperspb.UInt32(32768),
		DefaultFilterChain: &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(manager)},
		}}},
	}
}

// patched applies a patch by Envoy Gateway's own JSONPath library, as internal/utils/jsonpatch does.
func patched(t *testing.T, listener *listenerv3.Listener, p eg.EnvoyJSONPatchConfig) *listenerv3.Listener {
	t.Helper()
	if string(p.Type) != "type.googleapis.com/envoy.config.listener.v3.Listener" || p.Name != listener.Name || p.Operation.Op != "add" {
		t.Fatalf("the patch is for %s %s, %s", p.Type, p.Name, p.Operation.Op)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(listener)
	if err != nil {
		t.Fatal(err)
	}
	tree := parsedJSON(t, raw)
	path, err := jp.ParseString(*p.Operation.JSONPath)
	if err != nil {
		t.Fatal(err)
	}
	found := path.Get(tree)
	if len(found) != 1 {
		t.Fatalf("%s finds %d filters", *p.Operation.JSONPath, len(found))
	}
	into := found[0].(map[string]any)
	steps := strings.Split(strings.TrimPrefix(*p.Operation.Path, "/"), "/")
	for _, step := range steps[:len(steps)-1] {
		into = into[step].(map[string]any)
	}
	into[steps[len(steps)-1]] = parsedJSON(t, p.Operation.Value.Raw)
	if raw, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	return strictly(t, raw, new(listenerv3.Listener))
}

func TestEnvoyGatewaysPluginGetsWhatItsPolicyCannotSay(t *testing.T) {
	o, err := EnvoyGateway(onPlatform(t, "redis:6379"), EnvoyGateways{Listeners: []string{"http", "https"}})
	_, extension, patch := gatewayObjects(t, o, err)
	listener := madeListener(t, extension, "x")
	if n := len(patch.Spec.JSONPatches); n != 4 {
		t.Fatalf("%d patches for two listeners", n)
	}
	for _, p := range patch.Spec.JSONPatches[:2] {
		listener = patched(t, listener, p)
	}
	raw, err := protojson.Marshal(listener)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FAIL_RELOAD", "allowOnHeadersStopIteration"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the listener lacks %s", want)
		}
	}
}

func TestEnvoyGatewaysPolicyIsTheOneGiven(t *testing.T) {
	o, err := EnvoyGateway(onPlatform(t, "redis:6379"), EnvoyGateways{})
	_, extension, _ := gatewayObjects(t, o, err)
	if diff := cmp.Diff(parsedJSON(t, readmePolicy(t)), parsedJSON(t, extension.Spec.Wasm[0].Config.Raw)); diff != "" {
		t.Error(diff)
	}
}

func TestEnvoyGatewaysProxiesMountWhatTheyRead(t *testing.T) {
	s := onPlatform(t, "redis:6379")
	s.Policy = []byte(headerPolicy)
	s.Redis.User, s.Redis.Password = "routelimit", Secret{File: SecretFolder + "/password"}
	s.Redis.TLS = &TLS{CA: SecretFolder + "/ca.crt"}
	o, err := EnvoyGateway(s, EnvoyGateways{})
	proxy, extension, _ := gatewayObjects(t, o, err)
	deployment := proxy.Spec.Provider.Kubernetes.EnvoyDeployment
	var mounts []string
	for i, m := range deployment.Container.VolumeMounts {
		if m.Name != deployment.Pod.Volumes[i].Name {
			t.Errorf("%s mounts another volume", m.MountPath)
		}
		mounts = append(mounts, m.MountPath)
	}
	if diff := cmp.Diff([]string{moduleFolder, SecretFolder}, mounts); diff != "" {
		t.Error(diff)
	}
	if got := deployment.Pod.Volumes[0].Image.Reference; got != "registry.example/routelimit:1.0@sha256:"+s.Module.SHA256 {
		t.Errorf("the module is mounted from %s", got)
	}
	if env := deployment.Container.Env; len(env) != 1 || env[0].Name != "HASH_KEY" || env[0].ValueFrom.SecretKeyRef == nil {
		t.Errorf("environment %v", env)
	}
	if keys := extension.Spec.Wasm[0].Env.HostKeys; !slices.Equal(keys, []string{"HASH_KEY"}) {
		t.Errorf("the module sees %v", keys)
	}
	for _, want := range []string{SecretFolder + "/password", SecretFolder + "/ca.crt", moduleFile} {
		if !strings.Contains(*proxy.Spec.Bootstrap.Value, want) {
			t.Errorf("the bootstrap does not read %s", want)
		}
	}
}

func TestEnvoyGatewayNeedsAnImage(t *testing.T) {
	s := onPlatform(t, "redis:6379")
	s.Module.URL = "https://files.example/routelimit.wasm"
	if _, err := EnvoyGateway(s, EnvoyGateways{}); err == nil || !strings.Contains(err.Error(), "oci://") {
		t.Error(err)
	}
}

func fromYAML(t *testing.T, text []byte) []byte {
	t.Helper()
	return parseDocuments(t, text)[0]
}
