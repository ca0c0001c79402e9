package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deployed are the files under deploy/ that render writes for the policy of envoy.yaml and the Redis Cluster of
// deploy/kubernetes. docs/platforms.md names the same commands.
var deployed = map[string]string{
	"deploy/istio/gateway.yaml":            "--for istio",
	"deploy/istio/sidecars.yaml":           "--for istio --sidecars --namespace shop --selector app=login",
	"deploy/envoy-gateway/routelimit.yaml": "--for envoy-gateway",
	"deploy/higress/routelimit.yaml":       "--for higress",
}

const deployedFor = "render --policy envoy.yaml --redis rediss://routelimit@routelimit-redis.routelimit:6379 --redis-cluster " +
	"--module oci://registry.example/routelimit:1.0 "

// UPDATE_GOLDEN writes them anew.
func TestFilesToDeployAreRendered(t *testing.T) {
	t.Chdir("../..")
	for name, args := range deployed {
		code, out, err := call(t, strings.Fields(deployedFor+args)...)
		if code != exitOK {
			t.Fatalf("%s: %s", name, err)
		}
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(name, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, readErr := os.ReadFile(name)
		if diff := cmp.Diff(string(file), out); readErr != nil || diff != "" {
			t.Errorf("%s is not what render writes; write it with UPDATE_GOLDEN=1 (-file +render): %v\n%s", name, readErr, diff)
		}
	}
}
