package stand

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"routelimit/servers"
)

// Machine is what the figures were taken on.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	System string `json:"system"`
	// Load is the machine's load average over the last minute before anything was started: figures from a busy machine
	// show that here.
	Load float64 `json:"load"`
}

// DescribeMachine looks at the machine that this runs on.
func DescribeMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = cpuModel(string(text))
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", kernel " + strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// cpuModel is the first "model name" of /proc/cpuinfo; not every architecture has one.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Versions are what was measured with what.
type Versions struct {
	Envoy   string `json:"envoy"`
	Redis   string `json:"redis"`
	Module  string `json:"module"`
	Service string `json:"envoyproxy_ratelimit,omitempty"`
	Go      string `json:"go"`
}

// DescribeVersions asks the servers, and looks at the files: the module, and the service's binary if it is not "".
func (p *Project) DescribeVersions(ctx context.Context, redis *servers.Redis, service string) (v Versions, err error) {
	v.Go = runtime.Version()
	envoy, err := exec.CommandContext(ctx, p.Envoy, "--version").Output()
	if err != nil {
		return v, fmt.Errorf("%s does not tell its version: %w; set ENVOY= to another one", p.Envoy, err)
	}
	v.Envoy = envoyVersion(string(envoy))
	info, err := redis.Client().Info(ctx, "server").Result()
	if err != nil {
		return v, fmt.Errorf("redis does not tell its version: %w; see its log %s", err, redis.LogFile())
	}
	v.Redis = redisVersion(info)
	if v.Module, err = fingerprint(p.Module); err != nil {
		return v, err
	}
	if service != "" {
		v.Service, err = fingerprint(service)
	}
	return v, err
}

// envoyVersion finds the version and the kind of build in
//
//	/usr/bin/envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL
func envoyVersion(text string) string {
	_, version, _ := strings.Cut(text, "version: ")
	parts := strings.Split(strings.TrimSpace(version), "/")
	if len(parts) < 4 {
		return strings.TrimSpace(text)
	}
	return parts[1] + " " + parts[3]
}

// redisVersion reads INFO server, which names Valkey where it is Valkey.
func redisVersion(info string) string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	if version := fields["valkey_version"]; version != "" {
		return "Valkey " + version
	}
	return "Redis " + fields["redis_version"]
}

// fingerprint is a file's size and the beginning of its SHA-256.
func fingerprint(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read what is measured: %w; check the path", err)
	}
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%.1f MB, sha256 %x", float64(len(raw))/1e6, sum[:6]), nil
}
