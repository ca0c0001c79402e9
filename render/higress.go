package render

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// higressPlugin is Higress' WasmPlugin (extensions.higress.io/v1alpha1) as far as it is needed here: Istio's with a
// defaultConfig for all routes. Its Go module cannot be had, so these are the fields of its CustomResourceDefinition.
type higressPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              higressSpec `json:"spec"`
}

type higressSpec struct {
	URL           string         `json:"url"`
	SHA256        string         `json:"sha256,omitempty"`
	Phase         string         `json:"phase"`
	FailStrategy  string         `json:"failStrategy"`
	DefaultConfig map[string]any `json:"defaultConfig"`
	VMConfig      *higressVM     `json:"vmConfig,omitempty"`
}

type higressVM struct {
	Env []higressEnv `json:"env"`
}

type higressEnv struct {
	Name      string `json:"name"`
	ValueFrom string `json:"valueFrom"`
}

// Higress is an EnvoyFilter with the way to Redis, as in Istio, from which Higress is made, and the limits: a WasmPlugin of
// Higress' own; an EnvoyFilter where the policy reads bodies, or where m.Patch asks for it.
func Higress(s Setup, m Mesh) (Output, error) {
	p, err := s.parseFor(&m, Mesh{Namespace: "higress-system", Selector: map[string]string{"app": "higress-gateway"}})
	if err != nil {
		return Output{}, err
	}
	o := Output{Objects: []any{p.linkFilter(m)}, Notes: p.notes()}
	if p.needsBody() || m.Patch {
		o.Objects = append(o.Objects, p.limitFilter(m))
	} else {
		plugin, err := p.higressPlugin(m)
		if err != nil {
			return Output{}, err
		}
		o.Objects = append(o.Objects, plugin)
		o.Notes = append(o.Notes, "Higress' WasmPlugin has no FAIL_RELOAD: after a crash of the module its requests get 503 until the proxy is restarted. --plugin envoyfilter has it.")
	}
	o.Notes = append(o.Notes, p.higressNotes()...)
	return o, nil
}

func (p *parsed) higressPlugin(m Mesh) (*higressPlugin, error) {
	policy, err := p.tree()
	if err != nil {
		return nil, err
	}
	plugin := &higressPlugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: "extensions.higress.io/v1alpha1", Kind: "WasmPlugin"},
		ObjectMeta: m.named(limitResource),
		Spec: higressSpec{
			URL: p.Module.URL, SHA256: p.Module.SHA256,
			Phase: "STATS", FailStrategy: "FAIL_CLOSE", DefaultConfig: policy.AsMap(),
		},
	}
	if p.hashKey != "" {
		plugin.Spec.VMConfig = &higressVM{Env: []higressEnv{{Name: p.hashKey, ValueFrom: "HOST"}}}
	}
	return plugin, nil
}

func (p *parsed) higressNotes() []string {
	notes := []string{p.bufferNote("the global option downstream.connectionBufferLimits in the ConfigMap higress-config")}
	if len(p.payloads()) > 0 {
		notes = append(notes, "The policy reads claims of Envoy's jwt_authn, which Higress' own jwt-auth plugin does not write: add Envoy's filter by an EnvoyFilter, or take the identity from a header that the plugin sets.")
	}
	if !p.Module.pinned() {
		notes = append(notes, noChecksum)
	}
	if p.Redis.Password.File != "" || p.Redis.TLS != nil {
		notes = append(notes, fmt.Sprintf("Higress' chart mounts no Secret: patch the Deployment higress-gateway, so that %s holds the files.", SecretFolder))
	}
	return slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}
