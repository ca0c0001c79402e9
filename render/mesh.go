package render

import (
	"errors"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	networking "istio.io/api/networking/v1alpha3"
	istio "istio.io/client-go/pkg/apis/networking/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Mesh is where the resources of Istio and of Higress apply.
type Mesh struct {
	Namespace string            // of the resources and the proxies
	Selector  map[string]string // the labels of the proxies
	Sidecars  bool              // they are sidecars, whose inbound requests are limited, and no gateways
	Patch     bool              // the limits are to be an EnvoyFilter even where a WasmPlugin would do
}

// parseFor reads a setup for a mesh, and fills in what the mesh leaves to the platform.
func (s Setup) parseFor(m *Mesh, platform Mesh) (*parsed, error) {
	p, err := s.parse()
	if err != nil {
		return nil, err
	}
	if m.Namespace == "" {
		m.Namespace = platform.Namespace
	}
	if len(m.Selector) == 0 {
		m.Selector = platform.Selector
	}
	return p, errors.Join(p.Module.check(), m.check())
}

// check refuses names that Kubernetes would.
func (m Mesh) check() error {
	if err := checkName("the namespace", m.Namespace); err != nil {
		return err
	}
	for key, value := range m.Selector {
		if wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(wrong) > 0 {
			return fmt.Errorf("%s=%s is no label: %s", key, value, wrong[0])
		}
	}
	return nil
}

func checkName(what, name string) error {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return fmt.Errorf("%s is called %q: %s", what, name, wrong[0])
	}
	return nil
}

// Names of the resources and of what they configure.
const (
	linkResource  = "routelimit-link" // the way to Redis
	limitResource = "routelimit"      // the limits
)

// context is which of a proxy's listeners and clusters a patch is for.
func (m Mesh) context() networking.EnvoyFilter_PatchContext {
	if m.Sidecars {
		return networking.EnvoyFilter_SIDECAR_INBOUND
	}
	return networking.EnvoyFilter_GATEWAY
}

// linkFilter adds the way to Redis to each proxy. The listeners are inside the process, as the bootstrap of Istio's
// proxies allows; the gateway's module comes by ECDS, since only there Istio's agent fetches modules.
func (p *parsed) linkFilter(m Mesh) *istio.EnvoyFilter {
	way := p.listenerLink(storeName, discovered(gatewayName))
	patches := []*networking.EnvoyFilter_EnvoyConfigObjectPatch{
		add(networking.EnvoyFilter_EXTENSION_CONFIG, networking.EnvoyFilter_ANY, extension(gatewayName, gateway(p.Module.remote()))),
	}
	for _, c := range way.clusters {
		patches = append(patches, add(networking.EnvoyFilter_CLUSTER, m.context(), static(c)))
	}
	for _, l := range way.listeners {
		patches = append(patches, add(networking.EnvoyFilter_LISTENER, m.context(), l))
	}
	f := m.filter(linkResource, patches)
	// After all others: a limiting plugin in the gateway's own listener would wait for itself.
	f.Spec.Priority = 10
	return f
}

// limitFilter puts the limiting plugin before the router of each proxy, after authentication and authorization, with all
// settings that Envoy's plugin has.
func (p *parsed) limitFilter(m Mesh) *istio.EnvoyFilter {
	beforeRouter := add(networking.EnvoyFilter_HTTP_FILTER, m.context(), discovered(limiterName))
	beforeRouter.Patch.Operation = networking.EnvoyFilter_Patch_INSERT_BEFORE
	beforeRouter.Match.ObjectTypes = &networking.EnvoyFilter_EnvoyConfigObjectMatch_Listener{
		Listener: &networking.EnvoyFilter_ListenerMatch{FilterChain: &networking.EnvoyFilter_ListenerMatch_FilterChainMatch{
			Filter: &networking.EnvoyFilter_ListenerMatch_FilterMatch{
				Name:      "envoy.filters.network.http_connection_manager",
				SubFilter: &networking.EnvoyFilter_ListenerMatch_SubFilterMatch{Name: "envoy.filters.http.router"},
			},
		}},
	}
	return m.filter(limitResource, []*networking.EnvoyFilter_EnvoyConfigObjectPatch{
		add(networking.EnvoyFilter_EXTENSION_CONFIG, networking.EnvoyFilter_ANY, extension(limiterName, p.limiter(p.Module.remote()))),
		beforeRouter,
	})
}

func (m Mesh) filter(name string, patches []*networking.EnvoyFilter_EnvoyConfigObjectPatch) *istio.EnvoyFilter {
	return &istio.EnvoyFilter{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.istio.io/v1alpha3", Kind: "EnvoyFilter"},
		ObjectMeta: m.named(name),
		Spec: networking.EnvoyFilter{
			WorkloadSelector: &networking.WorkloadSelector{Labels: m.Selector},
			ConfigPatches:    patches,
		},
	}
}

func (m Mesh) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: m.Namespace}
}

func add(
	to networking.EnvoyFilter_ApplyTo, context networking.EnvoyFilter_PatchContext, value proto.Message,
) *networking.EnvoyFilter_EnvoyConfigObjectPatch {
	return &networking.EnvoyFilter_EnvoyConfigObjectPatch{
		ApplyTo: to,
		Match:   &networking.EnvoyFilter_EnvoyConfigObjectMatch{Context: context},
		Patch:   &networking.EnvoyFilter_Patch{Operation: networking.EnvoyFilter_Patch_ADD, Value: structOf(value)},
	}
}

// static says what Envoy takes for granted where a cluster names no type, and a control plane may not.
func static(c *clusterv3.Cluster) *clusterv3.Cluster {
	if c.ClusterDiscoveryType == nil {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	}
	return c
}

// extension is a plugin as ECDS gives it.
func extension(name string, w *wasmfilterv3.Wasm) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: pack(w)}
}

// discovered is an HTTP filter whose configuration comes by ECDS. The listener waits for it, so nothing passes unlimited
// at the start; where Istio's agent cannot fetch the module it sends a filter that refuses all instead (RBAC).
func discovered(name string) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
		ConfigSource: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			ResourceApiVersion:    corev3.ApiVersion_V3,
			InitialFetchTimeout:   durationpb.New(0),
		},
		TypeUrls: []string{
			"type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
			"type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
		},
	}}}
}

// structOf writes a message of ours as the tree that a patch holds.
func structOf(m proto.Message) *structpb.Struct {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("render: %v", err)) // every type in it is linked in
	}
	s := new(structpb.Struct)
	if err := protojson.Unmarshal(raw, s); err != nil {
		panic(fmt.Sprintf("render: %v", err))
	}
	return s
}
