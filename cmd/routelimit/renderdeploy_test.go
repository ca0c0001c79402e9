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

// Every command of the page and of the README writes what lint or a platform's types take elsewhere; here it has to work.
func TestCommandsOfThePlatformsPageWork(t *testing.T) {
	t.Chdir("../..")
	ran := 0
	for _, name := range []string{"docs/platforms.md", "README.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(page)) {
			_, command, ok := strings.Cut(line, "routelimit render --for ")
			if !ok || !strings.HasPrefix(line, "$ ") {
				continue
			}
			ran++
			command, _, _ = strings.Cut(command, " > ")
			command, _, _ = strings.Cut(command, " --output ")
			command = strings.Replace(command, "--policy policy.json", "--policy docs/examples/policy.json", 1)
			code, out, stderr := call(t, append([]string{"render", "--for"}, strings.Fields(command)...)...)
			if code != exitOK || out == "" {
				t.Errorf("%s: code %d, %s", command, code, stderr)
			}
		}
	}
	if ran != 5 {
		t.Errorf("%d commands", ran)
	}
}

// The line that docs show is that of the file.
func TestTheUserInTheDocsIsTheOneInTheFile(t *testing.T) {
	file, err := os.ReadFile("../../deploy/kubernetes/redis-cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\nuser routelimit ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found || !strings.Contains(string(file), "user routelimit "+line+"\n") {
		t.Errorf("the file has no user routelimit %s", line)
	}
}
