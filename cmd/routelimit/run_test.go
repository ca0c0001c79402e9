package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"routelimit/module"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// atRoot makes the project's folder the working directory, a fresh folder the temporary one, and gives the program the
// servers that the tests use. It returns the temporary folder.
func atRoot(t *testing.T) string {
	t.Helper()
	t.Setenv("ENVOY", servertest.Envoy(t, ""))
	t.Setenv("REDIS", servertest.Redis(t, ""))
	t.Setenv("REDIS_URL", "")
	t.Chdir("../..")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// empty fails the test if something was left in the temporary folder: each server keeps its files there until it ends.
func empty(t *testing.T, tmp string) {
	t.Helper()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// onFreePorts is a command line of run that takes no port away from another program.
func onFreePorts(args ...string) []string {
	line := []string{"run", "--port", "0", "--page-port", "0"}
	if !slices.Contains(args, withWazero) {
		line = append(line, "--admin-port", "0")
	}
	return append(line, args...)
}

// taken is a port on which something listens until the end of the test.
func taken(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestRunThatCannotRunSaysWhyInOneSentence(t *testing.T) {
	port, broken := taken(t), "redis://user:hunter2@127.0.0.1:"+taken(t)
	noRedis := write(t, "r.yaml", strings.ReplaceAll(read(t, "../../envoy.yaml"), "  - name: redis\n", "  - name: valkey\n"))
	noKey, shortKey := hashKeyFrom(t, "ABSENT_HASH_KEY"), hashKeyFrom(t, "SHORT_HASH_KEY")
	t.Setenv("SHORT_HASH_KEY", "short")
	tmp := atRoot(t)
	for name, tt := range map[string]struct {
		code int
		args []string
		want []string
	}{
		"no configuration":     {exitUsage, []string{"--config", "absent.yaml"}, []string{"absent.yaml", "--config"}},
		"no module":            {exitUsage, []string{"--wasm", "absent.wasm"}, []string{"absent.wasm", "give the name"}},
		"port in use":          {exitFindings, []string{"--port", port}, []string{"port " + port + " is in use", "--port"}},
		"admin port in use":    {exitFindings, []string{"--port", "0", "--admin-port", port}, []string{"port " + port + " is in use", "--admin-port"}},
		"one port twice":       {exitUsage, []string{"--port", port, "--admin-port", port}, []string{"port " + port, "both --port and --admin-port"}},
		"no port":              {exitUsage, []string{"--port", "99999"}, []string{"--port 99999 is no port", "65535"}},
		"no admin port":        {exitUsage, []string{"--admin-port", "-1"}, []string{"--admin-port -1 is no port"}},
		"hash key not set":     {exitUsage, []string{"--config", noKey}, []string{"variable ABSENT_HASH_KEY", "is not set", "export it"}},
		"short hash key":       {exitUsage, []string{"--config", shortKey}, []string{"variable SHORT_HASH_KEY", "holds 5 bytes", "at least 16"}},
		"no such address":      {exitFindings, []string{"--listen", "192.0.2.1", "--port", port}, []string{"192.0.2.1", "choose another"}},
		"unreachable Redis":    {exitFindings, []string{"--redis", "127.0.0.1:1"}, []string{"127.0.0.1:1 does not answer", "start it"}},
		"silent Redis":         {exitFindings, []string{"--redis", broken}, []string{"does not answer", "start it"}},
		"no Redis address":     {exitUsage, []string{"--redis", "redis://a:hunter2@b:c:d"}, []string{"cannot be read", "write redis://"}},
		"Redis with TLS":       {exitFindings, []string{"--redis", "rediss://a:hunter2@127.0.0.1:1"}, []string{"127.0.0.1:1 does not answer", "start it"}},
		"page port in use":     {exitFindings, []string{"--page-port", port}, []string{"port " + port + " is in use", "--page-port"}},
		"a page's port twice":  {exitUsage, []string{"--port", port, "--page-port", port}, []string{"port " + port, "both --port and --page-port"}},
		"a blocked page port":  {exitUsage, []string{"--page-port", "10080"}, []string{"--page-port 10080", "browsers refuse", "10090"}},
		"Redis database":       {exitUsage, []string{"--redis", "redis://127.0.0.1:1/3"}, []string{"database 3", "take it off"}},
		"no upstream address":  {exitUsage, []string{"--upstream", "localhost"}, []string{`"localhost"`, "host:port"}},
		"no module for wazero": {exitUsage, []string{"--engine", "wazero", "--wasm", "absent.wasm"}, []string{"absent.wasm", "give the name"}},
		"no Envoy":             {exitUsage, []string{"--envoy", "/absent/envoy"}, []string{"/absent/envoy", "set ENVOY="}},
		"no cluster for Redis": {exitUsage, []string{"--config", noRedis}, []string{`"redis"`, "add it"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := call(t, onFreePorts(tt.args...)...)
			if code != tt.code || out != "" || strings.Count(err, "\n") != 1 || strings.Contains(err, "hunter2") {
				t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err, want) {
					t.Errorf("stderr %q lacks %q", err, want)
				}
			}
			empty(t, tmp)
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hashKeyFrom is the path of the project's envoy.yaml with hash_key_env.
func hashKeyFrom(t *testing.T, name string) string {
	t.Helper()
	const client, seen = `"client": { "trusted_hops": 1 }`, "# environment_variables: {host_env_keys: [ROUTELIMIT_HASH_KEY]}"
	text := shippedWith(t, client, client+`, "hash_key_env": "`+name+`"`)
	return write(t, "key.yaml", strings.Replace(text, seen, "environment_variables: {host_env_keys: ["+name+"]}", 1))
}

func TestRunSaysWhatIsProbablyNotMeant(t *testing.T) {
	path := write(t, "envoy.yaml", shippedWith(t, `"limit": 120, "window": "1m"`, `"limit": 0, "window": "1m"`))
	atRoot(t)
	_, _, err := call(t, "run", "--config", path, "--port", "99999")
	if !strings.Contains(err, "default-refuses-all") || !strings.Contains(err, path+": no errors, 1 warning") {
		t.Errorf("stderr %q", err)
	}
}

func TestRunTakesOnePortOnTwoAddresses(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1": true, "0.0.0.0": true, "::": true, "192.0.2.1": false} {
		if f := (runFlags{listen: listen}); f.coversLoopback() != want {
			t.Errorf("%s: %v", listen, !want)
		}
	}
}

func TestRunRefusesAPolicyWithErrors(t *testing.T) {
	path := write(t, "envoy.yaml", shippedWith(t, `"limit": 30, "window": "1m"`, `"limit": 30, "window": "1 minute"`))
	tmp := atRoot(t)
	code, out, err := call(t, "run", "--config", path, "--port", "0", "--admin-port", "0", "--page-port", "0")
	if code != exitFindings || out != "" || !strings.Contains(err, `routes["POST /orders"].window`) || !strings.Contains(err, path+":") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
	}
	empty(t, tmp)
}

// Without an Envoy there is no admin page, and nobody is let believe that there is one.
func TestRunWithoutEnvoyRefusesItsAdminPort(t *testing.T) {
	for _, port := range []string{"0", "9901"} {
		code, out, err := call(t, "run", "--engine", "wazero", "--admin-port", port)
		if code != exitUsage || out != "" || !strings.Contains(err, "--admin-port is given") || !strings.Contains(err, "/state") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", port, code, out, err)
		}
	}
}

func TestRunWithoutServersSaysHowToGetThem(t *testing.T) {
	tmp := atRoot(t)
	for _, tool := range []string{"ENVOY", "REDIS"} {
		t.Run(tool, func(t *testing.T) {
			t.Setenv(tool, filepath.Join(tmp, "absent"))
			code, _, err := call(t, "run", "--port", "0", "--admin-port", "0", "--page-port", "0")
			if code != exitFindings || !strings.Contains(err, tool+"=") || strings.Count(err, "\n") != 1 {
				t.Errorf("code %d, stderr %q", code, err)
			}
			empty(t, tmp)
		})
	}
}

func TestDemoLoginTakesOnePassword(t *testing.T) {
	for body, want := range map[string]int{
		`{"username":"a","password":"correct"}`: 200, `{"username":"a","password":"guess"}`: 401, `{`: 401, ``: 401,
		`username=bob&password=correct`: 200, `username=bob&password=guess`: 401, `password=%zz`: 401,
	} {
		if got := demoStatus(&servers.Seen{Method: "POST", Path: "/login?x", Head: []byte(body)}); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
	}
}

// Of a policy by itself in YAML an error names the line and the field; two documents in a file are none.
func TestRunSaysWhatIsWrongWithAPolicyInYAML(t *testing.T) {
	const good = "default: {identity: ip, limit: 10, window: 1m}\n"
	for name, c := range map[string]struct {
		text, want string
		code       int
	}{
		"a wrong value":    {"routes: {GET /a: {identity: ip, limit: many, window: 1m}}\n" + good, `policy.yaml:1: error: routes["GET /a"].limit: "many" is a text`, exitFindings},
		"a repeated field": {good + good, `"default" already defined`, exitFindings},
		"two documents":    {good + "---\n" + good, "no routelimit in it", exitUsage},
		"an unknown field": {good + "rotes: {}\n", "rotes", exitFindings},
		"something else":   {"a: 1\n", "no routelimit in it", exitUsage},
		"nothing":          {"", "no routelimit in it", exitUsage},
		"no YAML":          {"default: [", "not YAML", exitFindings},
		"a list":           {"- default\n", "no routelimit in it", exitUsage},
	} {
		path := write(t, "policy.yaml", c.text)
		code, out, err := call(t, "run", "--config", path, "--engine", "wazero", "--port", "99999")
		if code != c.code || out != "" || !strings.Contains(err, c.want) {
			t.Errorf("%s: code %d, stderr %q", name, code, err)
		}
	}
}

// Envoy gets a module that is there, outside of the project too, and what was written for it goes.
func TestRunBringsTheModuleThatIsNotThere(t *testing.T) {
	envoy := read(t, "../../envoy.yaml")
	own := write(t, "routelimit-own.wasm", "own")
	config, bare := write(t, "envoy.yaml", envoy), write(t, "policy.json", read(t, "../../docs/examples/policy.json"))
	present := write(t, "present.yaml", strings.ReplaceAll(envoy, "build/routelimit.wasm", own))
	held, err := module.Read("")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for name, c := range map[string]struct{ config, wasm, want, said string }{
		"absent":             {config, "", string(held), "there is no module at build/routelimit.wasm"},
		"present":            {present, "", "own", ""},
		"a policy by itself": {bare, "", string(held), ""},
		"given":              {config, own, "own", ""},
	} {
		var said strings.Builder
		s := &stage{flags: &runFlags{config: c.config, wasm: c.wasm}, progress: &said}
		for _, step := range []func(context.Context) error{s.readConfig, s.findModule} {
			if err := step(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, p := range s.config.Plugins() {
			if text, err := os.ReadFile(p.Module()); err != nil || string(text) != c.want {
				t.Errorf("%s: %s loads %d bytes of %s, %v", name, p.VMID(), len(text), p.Module(), err)
			}
		}
		if !strings.Contains(said.String(), c.said) || c.said == "" && strings.Contains(said.String(), "no module") {
			t.Errorf("%s: said %q", name, said.String())
		}
		s.stop()
		empty(t, tmp)
	}
}
