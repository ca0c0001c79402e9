package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway1 "sigs.k8s.io/gateway-api/apis/v1"
)

// EnvoyGateways is where the resources of Envoy Gateway apply.
type EnvoyGateways struct {
	Namespace string   // of the Gateway and the resources; "": default
	Gateway   string   // its name; "": eg
	Listeners []string // the names of its listeners; none: http
}

// Where the proxies of Envoy Gateway find what a Secret and an image hold.
const (
	SecretFolder = "/etc/routelimit/redis" // the Secret routelimit-redis: password, ca.crt
	moduleFolder = "/etc/routelimit/module"
	moduleFile   = moduleFolder + "/plugin.wasm" // as it is called in an image
	redisSecret  = "routelimit-redis"
)

// EnvoyGateway is an EnvoyProxy with the way to Redis in its bootstrap, an EnvoyExtensionPolicy with the limits, and an
// EnvoyPatchPolicy for two settings of the plugin that the former has no fields for. The gateway's module is mounted from
// the same image, since Envoy Gateway serves modules to the filters of its own policies alone.
func EnvoyGateway(s Setup, g EnvoyGateways) (Output, error) {
	if g.Namespace == "" {
		g.Namespace = "default"
	}
	if g.Gateway == "" {
		g.Gateway = "eg"
	}
	if len(g.Listeners) == 0 {
		g.Listeners = []string{"http"}
	}
	p, err := s.parse()
	if err != nil {
		return Output{}, err
	}
	if err := p.Module.check(); err != nil {
		return Output{}, err
	}
	if err := g.check(); err != nil {
		return Output{}, err
	}
	if !p.Module.isImage() {
		return Output{}, fmt.Errorf("the module at %s is no image, and Envoy Gateway's proxies mount the gateway's module from one; give oci://registry/name:version", p.Module.URL)
	}
	proxy, err := p.envoyProxy(g)
	if err != nil {
		return Output{}, err
	}
	return Output{
		Objects: []any{proxy, p.extensionPolicy(g), g.patchPolicy()},
		Notes:   append(p.notes(), p.gatewayNotes(g)...),
	}, nil
}

// check refuses names that Kubernetes would, and that would end a patch's path.
func (g EnvoyGateways) check() error {
	err := errors.Join(checkName("the namespace", g.Namespace), checkName("the Gateway", g.Gateway))
	for _, listener := range g.Listeners {
		err = errors.Join(err, checkName("a listener of the Gateway", listener))
	}
	return err
}

// envoyProxy has the way to Redis in the bootstrap: there alone internal listeners can be allowed, and nothing that the
// control plane does later can take it away.
func (p *parsed) envoyProxy(g EnvoyGateways) (*eg.EnvoyProxy, error) {
	way := p.link(storeName, httpFilter(gatewayName, gateway(localFile(moduleFile))))
	for _, c := range way.clusters {
		static(c)
	}
	merged, err := YAML(&bootstrapv3.Bootstrap{
		BootstrapExtensions: []*corev3.TypedExtensionConfig{internalListeners()},
		StatsConfig:         stats(),
		StaticResources:     &bootstrapv3.Bootstrap_StaticResources{Listeners: way.listeners, Clusters: way.clusters},
	})
	if err != nil {
		return nil, err
	}
	return &eg.EnvoyProxy{
		TypeMeta:   g.kind("EnvoyProxy"),
		ObjectMeta: g.named(),
		Spec: eg.EnvoyProxySpec{
			Bootstrap: &eg.ProxyBootstrap{Type: ptr(eg.BootstrapTypeMerge), Value: ptr(string(merged))},
			Provider: &eg.EnvoyProxyProvider{
				Type: eg.EnvoyProxyProviderTypeKubernetes,
				Kubernetes: &eg.EnvoyProxyKubernetesProvider{EnvoyDeployment: &eg.KubernetesDeploymentSpec{
					Pod:       &eg.KubernetesPodSpec{Volumes: p.volumes()},
					Container: &eg.KubernetesContainerSpec{VolumeMounts: p.mounts(), Env: p.environment()},
				}},
			},
		},
	}, nil
}

// secret says whether proxies read files of the Secret.
func (p *parsed) secret() bool { return p.Redis.TLS != nil || p.Redis.Password.File != "" }

func (p *parsed) volumes() []corev1.Volume {
	all := []corev1.Volume{{Name: "routelimit-module", VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: p.Module.reference(), PullPolicy: corev1.PullIfNotPresent},
	}}}
	if p.secret() {
		all = append(all, corev1.Volume{Name: redisSecret, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: redisSecret},
		}})
	}
	return all
}

func (p *parsed) mounts() []corev1.VolumeMount {
	all := []corev1.VolumeMount{{Name: "routelimit-module", MountPath: moduleFolder, ReadOnly: true}}
	if p.secret() {
		all = append(all, corev1.VolumeMount{Name: redisSecret, MountPath: SecretFolder, ReadOnly: true})
	}
	return all
}

// environment has the key of secret identities, and the password where it is said to be there.
func (p *parsed) environment() []corev1.EnvVar {
	var all []corev1.EnvVar
	add := func(name, secret, key string) {
		if name != "" {
			all = append(all, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
			}}})
		}
	}
	add(p.Redis.Password.Env, redisSecret, "password")
	add(p.hashKey, "routelimit-hash-key", "key")
	return all
}

// extensionPolicy has the limits, on every route of the Gateway that has no policy of its own.
func (p *parsed) extensionPolicy(g EnvoyGateways) *eg.EnvoyExtensionPolicy {
	image := &eg.ImageWasmCodeSource{URL: p.Module.image()}
	if p.Module.SHA256 != "" {
		image.SHA256 = ptr(p.Module.SHA256)
	}
	plugin := eg.Wasm{
		Name:     ptr(limiterName),
		Code:     eg.WasmCodeSource{Type: eg.ImageWasmCodeSourceType, Image: image},
		Config:   &apiextensions.JSON{Raw: p.Policy},
		FailOpen: ptr(false),
	}
	if p.hashKey != "" {
		plugin.Env = &eg.WasmEnv{HostKeys: []string{p.hashKey}}
	}
	return &eg.EnvoyExtensionPolicy{
		TypeMeta:   g.kind("EnvoyExtensionPolicy"),
		ObjectMeta: g.named(),
		Spec: eg.EnvoyExtensionPolicySpec{
			PolicyTargetReferences: eg.PolicyTargetReferences{
				TargetRefs: []gateway1.LocalPolicyTargetReferenceWithSectionName{{LocalPolicyTargetReference: g.target()}},
			},
			Wasm: []eg.Wasm{plugin},
		},
	}
}

// patchPolicy sets what an EnvoyExtensionPolicy cannot: that a crashed VM is replaced, and that bodies are seen in time.
func (g EnvoyGateways) patchPolicy() *eg.EnvoyPatchPolicy {
	// The filter's name is Envoy Gateway's (internal/gatewayapi: irConfigNameForWasm).
	filter := fmt.Sprintf("envoy.filters.http.wasm/envoyextensionpolicy/%s/%s/wasm/0", g.Namespace, limitResource)
	var patches []eg.EnvoyJSONPatchConfig
	for _, listener := range g.Listeners {
		for _, field := range []struct{ name, value string }{
			{"failure_policy", `"FAIL_RELOAD"`}, {"allow_on_headers_stop_iteration", "true"},
		} {
			patches = append(patches, eg.EnvoyJSONPatchConfig{
				Type: eg.ListenerEnvoyResourceType,
				Name: fmt.Sprintf("%s/%s/%s", g.Namespace, g.Gateway, listener),
				Operation: eg.JSONPatchOperation{
					Op:       "add",
					JSONPath: ptr(fmt.Sprintf("..http_filters[?(@.name=='%s')]", filter)),
					Path:     ptr("/typed_config/config/" + field.name),
					Value:    &apiextensions.JSON{Raw: json.RawMessage(field.value)},
				},
			})
		}
	}
	return &eg.EnvoyPatchPolicy{
		TypeMeta:   g.kind("EnvoyPatchPolicy"),
		ObjectMeta: g.named(),
		Spec:       eg.EnvoyPatchPolicySpec{Type: eg.JSONPatchEnvoyPatchType, TargetRef: g.target(), JSONPatches: patches},
	}
}

func (g EnvoyGateways) kind(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: eg.GroupVersion.String(), Kind: kind}
}

func (g EnvoyGateways) named() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: limitResource, Namespace: g.Namespace}
}

func (g EnvoyGateways) target() gateway1.LocalPolicyTargetReference {
	return gateway1.LocalPolicyTargetReference{Group: "gateway.networking.k8s.io", Kind: "Gateway", Name: gateway1.ObjectName(g.Gateway)}
}

func (p *parsed) gatewayNotes(g EnvoyGateways) []string {
	notes := []string{
		fmt.Sprintf("The Gateway %s takes the EnvoyProxy by spec.infrastructure.parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: %s}.", g.Gateway, limitResource),
		"Envoy Gateway reads an EnvoyPatchPolicy only with extensionApis.enableEnvoyPatchPolicy: true.",
	}
	for _, payload := range p.payloads() {
		notes = append(notes, fmt.Sprintf("The policy reads claims of tokens: the jwt provider of a SecurityPolicy has to be called %q.", payload))
	}
	if !p.Module.pinned() {
		notes = append(notes, noChecksum)
	}
	if p.hashKey != "" {
		notes = append(notes, fmt.Sprintf("%s comes from the key \"key\" of the Secret routelimit-hash-key in the namespace of the proxies.", p.hashKey))
	}
	if p.secret() || p.Redis.Password.Env != "" {
		notes = append(notes, fmt.Sprintf("The Secret %s, with password and ca.crt, has to be in the namespace of the proxies (envoy-gateway-system unless they run in the Gateway's).", redisSecret))
	}
	notes = append(notes, p.bufferNote("connection.bufferLimit of a ClientTrafficPolicy"))
	return slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}

func ptr[T any](value T) *T { return &value }
