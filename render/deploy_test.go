package render

import (
	"encoding/json"
	"os"
	"testing"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	gateway1 "sigs.k8s.io/gateway-api/apis/v1"
)

func deployed(t *testing.T, name string) []resource {
	t.Helper()
	file, err := os.ReadFile("../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parseResources(t, file)
}

// What is patched into deployments that others made mounts the Secret where the rendered files look for it.
func TestPatchesMountTheSecret(t *testing.T) {
	for _, name := range []string{"istio/gateway-patch.yaml", "istio/sidecars-patch.yaml", "higress/gateway-patch.yaml"} {
		var d appsv1.Deployment
		decode(t, deployed(t, name)[0].raw, &d)
		pod := d.Spec.Template
		var volumes []corev1.Volume
		var mounts []corev1.VolumeMount
		if len(pod.Spec.Containers) == 1 {
			volumes, mounts = pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts
		} else {
			for annotation, into := range map[string]any{"userVolume": &volumes, "userVolumeMount": &mounts} {
				if err := json.Unmarshal([]byte(pod.Annotations["sidecar.istio.io/"+annotation]), into); err != nil {
					t.Fatalf("%s: %s: %v", name, annotation, err)
				}
			}
		}
		if len(volumes) != 1 || volumes[0].Secret == nil || volumes[0].Secret.SecretName != redisSecret ||
			len(mounts) != 1 || mounts[0].Name != volumes[0].Name || mounts[0].MountPath != SecretFolder {
			t.Errorf("%s: %v, %v", name, volumes, mounts)
		}
	}
}

func TestTheGatewayUsesTheProxyThatIsRendered(t *testing.T) {
	all := deployed(t, "envoy-gateway/gateway.yaml")
	var gateway gateway1.Gateway
	var security eg.SecurityPolicy
	decode(t, all[0].raw, &gateway)
	decode(t, all[1].raw, &security)
	proxy := deployed(t, "envoy-gateway/routelimit.yaml")[0]
	if ref := gateway.Spec.Infrastructure.ParametersRef; ref.Name != proxy.Metadata.Name || string(ref.Kind) != proxy.Kind || gateway.Namespace != proxy.Metadata.Namespace {
		t.Errorf("the Gateway takes %v", ref)
	}
	if target := security.Spec.TargetRefs[0]; string(target.Name) != gateway.Name || security.Spec.JWT.Providers[0].Name != "payload" {
		t.Errorf("the tokens of %v are put under %s", target, security.Spec.JWT.Providers[0].Name)
	}
}
