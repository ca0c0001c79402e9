package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	internalv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	networking "istio.io/api/networking/v1alpha3"
)

// resource is one document of an output, with its spec unread.
type resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
	raw  []byte
}

// resources reads an output back from its YAML.
func resources(t *testing.T, o Output, err error) []resource {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return parseResources(t, text)
}

func parseResources(t *testing.T, text []byte) []resource {
	t.Helper()
	var all []resource
	for _, raw := range parseDocuments(t, text) {
		one := resource{raw: raw}
		if err := json.Unmarshal(raw, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// parseDocuments are the documents of a YAML file, as JSON.
func parseDocuments(t *testing.T, text []byte) [][]byte {
	t.Helper()
	var all [][]byte
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var tree any
		err := decoder.Decode(&tree)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
}

// proxy is what Istio's control plane has made for one proxy, before and after EnvoyFilters.
type proxy struct {
	context    networking.EnvoyFilter_PatchContext
	listeners  []*listenerv3.Listener
	clusters   []*clusterv3.Cluster
	extensions []*corev3.TypedExtensionConfig
}

// apply does to a proxy what Istio does (pilot/pkg/networking/core/envoyfilter): objects are read strictly, where Istio
// warns of unknown fields; HTTP filters go into the listeners that are there, and then listeners and clusters are added.
func (p *proxy) apply(t *testing.T, all []resource) {
	t.Helper()
	made := len(p.listeners)
	for _, r := range all {
		if r.Kind == "EnvoyFilter" {
			p.patch(t, r.Spec, made)
		}
	}
}

// patch applies one EnvoyFilter, whose HTTP filters go into the first listeners, which were there before all patches.
func (p *proxy) patch(t *testing.T, spec []byte, made int) {
	t.Helper()
	filter := new(networking.EnvoyFilter)
	if err := protojson.Unmarshal(spec, filter); err != nil {
		t.Fatal(err)
	}
	if len(filter.WorkloadSelector.GetLabels()) == 0 {
		t.Error("an EnvoyFilter is for all workloads of its namespace")
	}
	for _, patch := range filter.ConfigPatches {
		context := patch.Match.Context
		if context != networking.EnvoyFilter_ANY && context != p.context {
			t.Errorf("a patch is for %v and not for %v", context, p.context)
		}
		raw, err := protojson.Marshal(patch.Patch.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch patch.ApplyTo {
		case networking.EnvoyFilter_CLUSTER:
			p.clusters = append(p.clusters, strictly(t, raw, new(clusterv3.Cluster)))
		case networking.EnvoyFilter_LISTENER:
			p.listeners = append(p.listeners, strictly(t, raw, new(listenerv3.Listener)))
		case networking.EnvoyFilter_EXTENSION_CONFIG:
			p.extensions = append(p.extensions, strictly(t, raw, new(corev3.TypedExtensionConfig)))
		case networking.EnvoyFilter_HTTP_FILTER:
			p.insert(t, patch, strictly(t, raw, new(hcmv3.HttpFilter)), made)
		default:
			t.Errorf("a patch of %v", patch.ApplyTo)
		}
	}
}

// insert puts an HTTP filter before the one that the patch names, in so many listeners.
func (p *proxy) insert(t *testing.T, patch *networking.EnvoyFilter_EnvoyConfigObjectPatch, f *hcmv3.HttpFilter, made int) {
	t.Helper()
	if patch.Patch.Operation != networking.EnvoyFilter_Patch_INSERT_BEFORE {
		t.Fatalf("the operation %v", patch.Patch.Operation)
	}
	match := patch.Match.GetListener().FilterChain.Filter
	for _, l := range p.listeners[:made] {
		for _, chain := range l.FilterChains {
			for _, network := range chain.Filters {
				manager := new(hcmv3.HttpConnectionManager)
				if network.Name != match.Name || network.GetTypedConfig().UnmarshalTo(manager) != nil {
					continue
				}
				at := slices.IndexFunc(manager.HttpFilters, func(h *hcmv3.HttpFilter) bool { return h.Name == match.SubFilter.Name })
				if at < 0 {
					t.Fatalf("no HTTP filter %s", match.SubFilter.Name)
				}
				manager.HttpFilters = slices.Insert(manager.HttpFilters, at, f)
				network.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: pack(manager)}
			}
		}
	}
}

func strictly[M proto.Message](t *testing.T, raw []byte, m M) M {
	t.Helper()
	if err := protojson.Unmarshal(raw, m); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if valid, ok := any(m).(interface{ ValidateAll() error }); !ok || valid.ValidateAll() != nil {
		t.Fatalf("%v\n%s", valid.ValidateAll(), raw)
	}
	return m
}

// istioProxy is a small proxy as Istio makes one: one HTTP listener that leads to an upstream.
func istioProxy(context networking.EnvoyFilter_PatchContext, upstream string) *proxy {
	name := "0.0.0.0_8080"
	if context == networking.EnvoyFilter_SIDECAR_INBOUND {
		name = "virtualInbound"
	}
	address, err := socketAddress("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:       "inbound",
		UseRemoteAddress: wrapperspb.Bool(context == networking.EnvoyFilter_GATEWAY),
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: prefix("/"),
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{
					ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "outbound|80||app"},
				}},
			}}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{httpFilter("envoy.filters.http.cors", &corsv3.Cors{}), router()},
	}
	return &proxy{
		context: context,
		listeners: []*listenerv3.Listener{{
			Name: name, Address: address, PerConnectionBufferLimitBytes: wrapperspb.UInt32(32768),
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
				Name:       "envoy.filters.network.http_connection_manager",
				ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(manager)},
			}}}},
		}},
		clusters: []*clusterv3.Cluster{{Name: "outbound|80||app", LoadAssignment: endpoints("outbound|80||app", upstream)}},
	}
}

// bootstrap is the proxy as a configuration that needs no control plane: extensions come from files in place of ECDS, and
// modules from a file, as Istio's agent gives them.
func (p *proxy) bootstrap(t *testing.T, module string) []byte {
	t.Helper()
	dir := t.TempDir()
	for _, e := range p.extensions {
		write(t, filepath.Join(dir, e.Name+".json"), &discoveryv3.DiscoveryResponse{
			VersionInfo: "1", TypeUrl: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
			Resources: []*anypb.Any{pack(fetched(t, e, module))},
		})
	}
	admin, err := socketAddress("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.Marshal(&bootstrapv3.Bootstrap{
		Node:  &corev3.Node{Id: "proxy", Cluster: "proxy"},
		Admin: &bootstrapv3.Admin{Address: admin},
		BootstrapExtensions: []*corev3.TypedExtensionConfig{{
			Name:        "envoy.bootstrap.internal_listener",
			TypedConfig: pack(&internalv3.InternalListener{BufferSizeKb: wrapperspb.UInt32(64)}), // Istio's
		}},
		StatsConfig:     stats(),
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{Listeners: p.listeners, Clusters: p.clusters},
	})
	if err != nil {
		t.Fatal(err)
	}
	return replaceADS(t, raw, dir)
}

// replaceADS makes every filter that comes by ECDS come from the file of its name.
func replaceADS(t *testing.T, raw []byte, dir string) []byte {
	t.Helper()
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if discovery, ok := v["configDiscovery"].(map[string]any); ok {
				discovery["configSource"] = map[string]any{
					"resourceApiVersion": "V3",
					"pathConfigSource":   map[string]any{"path": filepath.Join(dir, v["name"].(string)+".json")},
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(tree)
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fetched is an extension after Istio's agent has fetched its module (pkg/wasm/convert.go).
func fetched(t *testing.T, e *corev3.TypedExtensionConfig, module string) *corev3.TypedExtensionConfig {
	t.Helper()
	w := new(wasmfilterv3.Wasm)
	if err := e.TypedConfig.UnmarshalTo(w); err != nil {
		t.Fatal(err)
	}
	if w.Config.GetVmConfig().Code.GetRemote().GetHttpUri().GetUri() == "" {
		t.Fatal("the agent would not know where the module is")
	}
	w.Config.GetVmConfig().Code = localFile(module)
	return &corev3.TypedExtensionConfig{Name: e.Name, TypedConfig: pack(w)}
}

func write(t *testing.T, name string, m proto.Message) {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func vmID(t *testing.T, e *corev3.TypedExtensionConfig) string {
	t.Helper()
	w := new(wasmfilterv3.Wasm)
	if err := e.TypedConfig.UnmarshalTo(w); err != nil {
		t.Fatal(err)
	}
	return w.Config.GetVmConfig().VmId
}
