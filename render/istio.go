package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	extensions "istio.io/api/extensions/v1alpha1"
	typev1 "istio.io/api/type/v1beta1"
	istioextensions "istio.io/client-go/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// istioPayload is where Istio's RequestAuthentication puts the claims of a token.
const istioPayload = "payload"

// Istio is an EnvoyFilter with the way to Redis, the limits, and a bootstrap override that gives the metrics their labels.
// The limits are a WasmPlugin; an EnvoyFilter where the policy reads bodies, since a WasmPlugin has no
// allow_on_headers_stop_iteration, or where m.Patch asks for it.
func Istio(s Setup, m Mesh) (Output, error) {
	p, err := s.parseFor(&m, Mesh{Namespace: "istio-ingress", Selector: map[string]string{"istio": "ingressgateway"}})
	if err != nil {
		return Output{}, err
	}
	var limits any = p.limitFilter(m)
	if !p.needsBody() && !m.Patch {
		if limits, err = p.wasmPlugin(m); err != nil {
			return Output{}, err
		}
	}
	return Output{
		Objects: []any{p.linkFilter(m), limits, m.override()},
		Notes:   append(p.notes(), p.istioNotes()...),
	}, nil
}

// wasmPlugin stands after authentication and authorization.
func (p *parsed) wasmPlugin(m Mesh) (*istioextensions.WasmPlugin, error) {
	policy, err := p.tree()
	if err != nil {
		return nil, err
	}
	mode := typev1.WorkloadMode_CLIENT // what a gateway is
	if m.Sidecars {
		mode = typev1.WorkloadMode_SERVER
	}
	plugin := &istioextensions.WasmPlugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: "extensions.istio.io/v1alpha1", Kind: "WasmPlugin"},
		ObjectMeta: m.named(limitResource),
		Spec: extensions.WasmPlugin{
			Selector:     &typev1.WorkloadSelector{MatchLabels: m.Selector},
			Url:          p.Module.URL,
			Sha256:       p.Module.SHA256,
			Phase:        extensions.PluginPhase_STATS,
			FailStrategy: extensions.FailStrategy_FAIL_RELOAD,
			PluginConfig: policy,
			Match:        []*extensions.WasmPlugin_TrafficSelector{{Mode: mode}},
		},
	}
	if p.hashKey != "" {
		plugin.Spec.VmConfig = &extensions.VmConfig{Env: []*extensions.EnvVar{{Name: p.hashKey, ValueFrom: extensions.EnvValueSource_HOST}}}
	}
	return plugin, nil
}

// tree is the policy as an object. The order of its fields is lost, which says nothing in a policy.
func (p *parsed) tree() (*structpb.Struct, error) {
	s := new(structpb.Struct)
	if err := protojson.Unmarshal(p.Policy, s); err != nil {
		return nil, fmt.Errorf("the policy cannot stand in a WasmPlugin: %w; write that otherwise, or render an EnvoyFilter", err)
	}
	return s, nil
}

// override is what a proxy adds to its bootstrap where its annotation sidecar.istio.io/bootstrapOverride names it.
func (m Mesh) override() *corev1.ConfigMap {
	var file bytes.Buffer
	raw, err := jsonOf(&bootstrapv3.Bootstrap{StatsConfig: stats()})
	if err == nil {
		err = json.Indent(&file, raw, "", "  ")
	}
	if err != nil {
		panic(fmt.Sprintf("render: %v", err)) // it is ours
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: m.named("routelimit-bootstrap"),
		Data:       map[string]string{"custom_bootstrap.json": file.String() + "\n"},
	}
}

func (p *parsed) istioNotes() []string {
	var notes []string
	if payloads := p.payloads(); len(payloads) > 0 {
		notes = append(notes, "The policy reads claims of tokens: a RequestAuthentication for these proxies has to verify them.")
		if slices.ContainsFunc(payloads, func(key string) bool { return key != istioPayload }) {
			notes = append(notes, fmt.Sprintf("Istio puts claims under %q, where the policy does not look for them: write metadata:%s/%s/… into it.", istioPayload, jwtFilter, istioPayload))
		}
	}
	if !p.Module.pinned() {
		notes = append(notes, noChecksum)
	}
	if p.secret() {
		notes = append(notes, fmt.Sprintf("The proxies need the Secret %s mounted at %s: sidecars by the annotations sidecar.istio.io/userVolume and userVolumeMount, gateways by volumes of their own.", redisSecret, SecretFolder))
	}
	notes = append(notes, "Metrics have labels where the pods are annotated with sidecar.istio.io/bootstrapOverride: routelimit-bootstrap.")
	return notes
}

const noChecksum = "The module is not checked against a checksum: give --module-sha256."

// bufferNote warns where a platform's listeners hold less than the body that the policy waits for.
func (p *parsed) bufferNote(where string) string {
	if !p.needsBody() || p.policy.Body.MaxBytes <= leastBuffer {
		return ""
	}
	return fmt.Sprintf("body.max_bytes is %d, and listeners of this platform hold %d bytes unless they are told otherwise: raise that by %s, or requests with longer bodies hang until body.timeout.",
		p.policy.Body.MaxBytes, leastBuffer, where)
}
