package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"routelimit/bootstrap"
	"routelimit/limit"
)

type tree = map[string]any

// Listeners, by what is behind them. The injected one has the module with places where it can be made to panic or to trap,
// and a link that waits for Redis for seconds.
const (
	single   = "single"
	direct   = "direct" // the same Redis, without redis_proxy
	sharded  = "sharded"
	injected = "injected"
)

// idleTimeout is stream_idle_timeout of the injected listener: what ends requests that a dead VM left behind.
const idleTimeout = 2 * time.Second

const (
	listenersFile = "listeners.json"
	clustersFile  = "clusters.json"
)

// files are what the Envoys read while they run: all listeners and all clusters. Both read the same.
type files struct {
	dir                 string
	bootstrap           []byte
	listeners, clusters []any
}

func (f *files) remove() {
	if f.dir != "" {
		os.RemoveAll(f.dir)
	}
}

// buildInjected builds the module with the tag inject.
func buildInjected(ctx context.Context) (path string, err error) {
	const overlay = "build/overlay/overlay.json"
	if _, err := os.Stat("../../" + overlay); err != nil {
		return "", fmt.Errorf("%w; run make wasm", err)
	}
	dir, err := filepath.Abs("../../build")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "injected.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "inject", "-overlay", overlay, "-ldflags=-s -w",
		"-buildmode=c-shared", "-o", path, "./filter")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with the tag inject: %w\n%s", err, out)
	}
	return path, nil
}

// policy has a route for each way to go without Redis. Each caller has 5 requests a second on the closed routes and the
// open one, and 10 on the local one.
func policy(cluster, timeout string) tree {
	short := func(onError, algorithm string, n int) tree {
		return tree{"on_error": onError, "identity": "caller", "limit": n, "window": "1s", "algorithm": algorithm}
	}
	long := func(onError, identity string, n int) tree {
		return tree{"on_error": onError, "identity": identity, "limit": n, "window": "24h", "algorithm": "fixed_window"}
	}
	routes := tree{
		"GET /open":    short("open", "fixed_window", closedLimit),
		"GET /local":   short("local", "sliding_log", localLimit),
		"GET /calm":    long("open", "caller", 1_000_000),
		"GET /attack":  long("open", "caller", 5),
		"POST /upload": long("closed", "user", 1_000_000),
		"POST /once":   long("closed", "caller", 1),
	}
	for _, a := range limit.AlgorithmNames() {
		routes["GET /closed/"+a] = short("closed", a, closedLimit)
	}
	return tree{
		"redis":      tree{"cluster": cluster, "timeout": timeout},
		"identities": tree{"caller": tree{"from": "header:x-caller"}, "user": tree{"from": "body:user"}},
		"routes":     routes, "default": nil,
	}
}

func makeFiles(upstream, module string) (f files, err error) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		return f, err
	}
	c, err := bootstrap.Parse(text)
	if err != nil {
		return f, err
	}
	if _, err := os.Stat("../../build/routelimit.wasm"); err != nil {
		return f, fmt.Errorf("%w; build it with: make wasm", err)
	}
	c.RemoveAccessLogs()
	c.SetAdmin("127.0.0.1", 0)
	err = errors.Join(c.SetUpstream(upstream), c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0),
		c.SetRedis(rig.single.Addr()), addPlace(c, single, "", timeout.String()), addPlace(c, injected, module, "10s"),
		addPlace(c, direct, "", timeout.String()),
		c.SetRedisCluster(rig.nodes.Addrs()[:2]...), addPlace(c, sharded, "", timeout.String()))
	if err != nil {
		return f, err
	}
	if f.dir, err = os.MkdirTemp("", "routelimit-chaos-"); err != nil {
		return f, err
	}
	resources := c.Root()["static_resources"].(tree)
	f.listeners = typed(resources["listeners"], "listener.v3.Listener")[2:] // envoy.yaml's own are not needed
	f.clusters = typed(resources["clusters"], "cluster.v3.Cluster")
	delete(c.Root(), "static_resources")
	c.Root()["dynamic_resources"] = tree{"lds_config": f.source(listenersFile), "cds_config": f.source(clustersFile)}
	f.bootstrap = c.Bytes()
	return f, errors.Join(f.publish(clustersFile, f.clusters), f.publish(listenersFile, f.listeners))
}

func typed(list any, message string) []any {
	all := list.([]any)
	for _, one := range all {
		one.(tree)["@type"] = "type.googleapis.com/envoy.config." + message
	}
	return all
}

// addPlace adds a listener with a link of its own to the Redis that is set at the time.
func addPlace(c *bootstrap.Config, name, module, timeout string) error {
	link, err := c.AddLink(name)
	if err != nil {
		return err
	}
	l, err := c.CopyListener(bootstrap.PublicListener, name)
	if err != nil {
		return err
	}
	manager := managerOf(l)
	manager["stat_prefix"] = name
	raw, err := json.Marshal(policy(link.Cluster, timeout))
	if err != nil {
		return err
	}
	for _, p := range bootstrap.PluginsIn(l) {
		p.SetConfiguration(string(raw))
	}
	if name == direct {
		if err := c.LeadDirectly(link.Cluster, link.Store); err != nil {
			return err
		}
	}
	if module != "" {
		link.Proxy["op_timeout"] = "8s"
		manager["stream_idle_timeout"] = idleTimeout.String()
		config := configOf(manager)
		config["name"] = "routelimit_" + name
		config["vm_config"] = tree{
			"vm_id": name, "runtime": "envoy.wasm.runtime.v8", "code": tree{"local": tree{"filename": module}},
		}
	}
	c.Add("listeners", l)
	return nil
}

func managerOf(listener tree) tree {
	chain := listener["filter_chains"].([]any)[0].(tree)
	return chain["filters"].([]any)[0].(tree)["typed_config"].(tree)
}

// configOf is the plugin configuration in a connection manager.
func configOf(manager tree) tree {
	for _, f := range manager["http_filters"].([]any) {
		if f := f.(tree); f["name"] == "routelimit" {
			return f["typed_config"].(tree)["config"].(tree)
		}
	}
	panic("envoy.yaml has no routelimit in its listener")
}

func (f *files) source(name string) tree {
	return tree{"resource_api_version": "V3", "path_config_source": tree{
		"path": filepath.Join(f.dir, name), "watched_directory": tree{"path": f.dir},
	}}
}

// publish puts resources into place all at once, as Envoy's file watch needs it.
func (f *files) publish(name string, resources []any) error {
	text, err := json.Marshal(tree{"resources": resources})
	if err != nil {
		return err
	}
	part := filepath.Join(f.dir, name+".part")
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(f.dir, name))
}
