package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const readmePolicyFile = "../../envoy.yaml"

// rendered calls render for the README's policy, with what is added.
func rendered(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return call(t, append([]string{"render", "--policy", readmePolicyFile}, args...)...)
}

func TestRenderedEnvoysAreCleanForLint(t *testing.T) {
	for name, args := range map[string][]string{
		"one Redis":  {"--redis", "redis://10.0.0.7:6379"},
		"by name":    {"--redis", "redis.example:6379", "--upstream", "/run/app.sock"},
		"a socket":   {"--redis", "unix:///run/redis.sock"},
		"a Cluster":  {"--redis", "rediss://routelimit@redis-1.example:6379,redis-2.example:6379", "--redis-cluster"},
		"a variable": {"--redis", "redis://10.0.0.7", "--redis-password-env", "SECRET"},
	} {
		code, out, _ := rendered(t, append([]string{"--for", "envoy"}, args...)...)
		if code != exitOK {
			t.Fatalf("%s: code %d", name, code)
		}
		code, found, err := callWith(t.Context(), out, "lint", "-", "--strict")
		if code != exitOK {
			t.Errorf("%s: %s%s", name, found, err)
		}
	}
}

func TestRenderWritesNoPassword(t *testing.T) {
	for _, platform := range []string{"envoy", "istio", "envoy-gateway", "higress"} {
		args := []string{"--for", platform, "--redis", "rediss://routelimit:hunter2@redis.example:6379"}
		want := "environment_variable: REDIS_PASSWORD"
		if platform != "envoy" {
			args = append(args, "--module", "oci://registry.example/routelimit:1.0")
			want = "filename: /etc/routelimit/redis/password"
		}
		code, out, err := rendered(t, args...)
		if code != exitOK || strings.Contains(out+err, "hunter2") || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, %s", platform, code, err)
		}
		if !strings.Contains(err, "password in the URL is not written") {
			t.Errorf("%s: it is not said that the password is not written: %s", platform, err)
		}
	}
}

func TestRenderWritesAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "envoy.yaml")
	code, out, err := rendered(t, "--for", "envoy", "--redis", "a:1", "-o", name)
	file, readErr := os.ReadFile(name)
	if code != exitOK || out != "" || readErr != nil || !strings.Contains(err, "--jwt-keys") {
		t.Fatalf("code %d, stdout %q, stderr %q, %v", code, out, err, readErr)
	}
	if _, same, _ := rendered(t, "--for", "envoy", "--redis", "a:1"); same != string(file) {
		t.Error("the file is not what is printed")
	}
}

func TestRenderSaysWhichModuleEnvoyReads(t *testing.T) {
	for module, want := range map[string]string{
		"":                    "from build/routelimit.wasm, seen from the folder where Envoy is started: start it there, or give --module",
		"own.wasm":            "from own.wasm, seen from",
		"/opt/rl/module.wasm": "from /opt/rl/module.wasm, which has to be there.",
	} {
		code, out, err := rendered(t, "--for", "envoy", "--redis", "a:1", "--module", module)
		if code != exitOK || !strings.Contains(err, "routelimit: Envoy reads the module "+want) || !strings.Contains(out, "filename: "+cmp.Or(module, "build/routelimit.wasm")+"\n") {
			t.Errorf("%q: code %d, stderr %q", module, code, err)
		}
	}
}

func TestRenderTakesTheKeysOfAnIssuer(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte(`{"keys": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, err := rendered(t, "--for", "envoy", "--redis", "a:1", "--jwt-issuer", "https://id.example", "--jwt-keys", keys)
	if code != exitOK || strings.Contains(err, "--jwt-keys") || !strings.Contains(out, "https://id.example") || !strings.Contains(out, `{\"keys\": []}`) {
		t.Errorf("code %d, stderr %q\n%s", code, err, out)
	}
}

func TestRenderRefusesAPolicyWithErrors(t *testing.T) {
	code, out, err := callWith(t.Context(), `{"rotes": {}}`, "render", "--for", "envoy", "--redis", "a:1", "--policy", "-")
	if code != exitFindings || out != "" || !strings.Contains(err, `did you mean "routes"`) || !strings.Contains(err, "nothing was written") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
}

func TestRenderSaysWhatIsWrongWithTheCommandLine(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	const module = "--module=oci://registry.example/routelimit:1.0"
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no platform":         {[]string{"--redis", "a:1"}, "write one of envoy, istio, envoy-gateway, higress"},
		"another platform":    {[]string{"--for", "nginx", "--redis", "a:1"}, "write one of envoy"},
		"no Redis":            {[]string{"--for", "envoy"}, "set REDIS_URL"},
		"no URL":              {[]string{"--for", "envoy", "--redis", "http://a"}, "write redis://"},
		"a database":          {[]string{"--for", "envoy", "--redis", "redis://a/3"}, "database 3"},
		"two and no Cluster":  {[]string{"--for", "envoy", "--redis", "redis://a,b"}, "say that it is one"},
		"TLS without rediss":  {[]string{"--for", "envoy", "--redis", "a:1", "--redis-ca", "x"}, "write rediss://"},
		"half a certificate":  {[]string{"--for", "envoy", "--redis", "rediss://a", "--redis-cert", "x"}, "belong together"},
		"a socket and TLS":    {[]string{"--for", "envoy", "--redis", "unix:///a", "--redis-cluster"}, "unix socket"},
		"two passwords":       {[]string{"--for", "envoy", "--redis", "a:1", "--redis-password-env", "A", "--redis-password-file", "b"}, "redis-password-env"},
		"no upstream":         {[]string{"--for", "envoy", "--redis", "a:1", "--upstream", "a"}, "host:port"},
		"no listener":         {[]string{"--for", "envoy", "--redis", "a:1", "--listen", "a"}, "host:port"},
		"no admin":            {[]string{"--for", "envoy", "--redis", "a:1", "--admin", "a"}, "host:port"},
		"no module":           {[]string{"--for", "istio", "--redis", "a:1"}, "where the module is"},
		"no image":            {[]string{"--for", "envoy-gateway", "--redis", "a:1", "--module", "https://a/b.wasm"}, "oci://"},
		"a flag of another's": {[]string{"--for", "istio", "--redis", "a:1", module, "--gateway", "x"}, "--gateway is for envoy-gateway alone"},
		"no such plugin":      {[]string{"--for", "istio", "--redis", "a:1", module, "--plugin", "x"}, "write auto or envoyfilter"},
		"no keys":             {[]string{"--for", "envoy", "--redis", "a:1", "--jwt-keys", "/nowhere"}, "JSON Web Key Set"},
		"no namespace":        {[]string{"--for", "istio", "--redis", "a:1", module, "--namespace", "a b"}, "namespace is called"},
		"no label":            {[]string{"--for", "istio", "--redis", "a:1", module, "--selector", "a b=c"}, "is no label"},
		"no Gateway":          {[]string{"--for", "envoy-gateway", "--redis", "a:1", module, "--gateway", "x')]"}, "Gateway is called"},
		"no listener's name":  {[]string{"--for", "envoy-gateway", "--redis", "a:1", module, "--listener", "A"}, "listener of the Gateway is called"},
		"keys of no JSON":     {[]string{"--for", "envoy", "--redis", "a:1", "--jwt-keys", "render.go"}, "no JSON"},
		"a user of no text":   {[]string{"--for", "envoy", "--redis", "redis://%ff@a"}, "no text"},
		"a path of no text":   {[]string{"--for", "envoy", "--redis", "a:1", "--upstream", "/\xff"}, "no text"},
		"a module of no text": {[]string{"--for", "envoy", "--redis", "a:1", "--module", "\x00"}, "no text"},
		"no folder":           {[]string{"--for", "envoy", "--redis", "a:1", "--output", "/nowhere/x"}, "another --output"},
	} {
		code, out, err := rendered(t, tt.args...)
		if code != exitUsage || out != "" || !strings.Contains(err, tt.want) {
			t.Errorf("%s: code %d, stdout %d bytes, stderr %q, want %q", name, code, len(out), err, tt.want)
		}
	}
}
