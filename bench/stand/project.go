// Package stand is what measurements stand on: the machine, the servers and their versions, Envoys with configurations
// made of the project's envoy.yaml, and what processes and Redis count of themselves.
package stand

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// Project is what is measured, and the binaries it runs on.
type Project struct {
	Envoy, Redis string // binaries
	Module       string // file
	text         []byte // of envoy.yaml
}

// OpenProject reads a project's folder and finds the servers, as `make run` does.
func OpenProject(ctx context.Context, dir string, progress io.Writer) (*Project, error) {
	text, err := os.ReadFile(filepath.Join(dir, "envoy.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot read Envoy's configuration: %w; run in the project's folder", err)
	}
	module, err := filepath.Abs(filepath.Join(dir, "build", "routelimit.wasm"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(module); err != nil {
		return nil, fmt.Errorf("the module is missing: %w; run make wasm", err)
	}
	p := &Project{Module: module, text: text}
	tools := servers.NewToolbox(progress)
	if p.Redis, err = tools.Redis(ctx, ""); err != nil {
		return nil, err
	}
	p.Envoy, err = tools.Envoy(ctx, "")
	return p, err
}

// StartRedis runs one Redis, with arguments of its own.
func (p *Project) StartRedis(ctx context.Context, args ...string) (*servers.Redis, error) {
	return servers.StartRedis(ctx, servers.RedisOptions{Binary: p.Redis, Args: args})
}

// StartEnvoy runs an Envoy with some workers, as Config makes it, and returns the address of its public listener too.
func (p *Project) StartEnvoy(ctx context.Context, redis string, workers int, change func(*bootstrap.Config) error) (*servers.Envoy, string, error) {
	config, err := p.Config(redis, change)
	if err != nil {
		return nil, "", err
	}
	e, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: p.Envoy, Config: config, Concurrency: workers})
	if err != nil {
		return nil, "", err
	}
	addr, err := e.Address(ctx, bootstrap.PublicListener)
	if err != nil {
		e.Stop()
		return nil, "", err
	}
	return e, addr, nil
}

// Config makes a configuration of envoy.yaml: what is measured is what is shipped, without the token check and the access
// log, and with a listener of the same Envoy as its upstream. redis is one Redis' host:port. change makes the rest.
func (p *Project) Config(redis string, change func(*bootstrap.Config) error) ([]byte, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, err
	}
	return configOf(p.text, p.Module, redis, port, change)
}
