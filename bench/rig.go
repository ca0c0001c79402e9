package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"routelimit/servers"
)

// rig is everything that runs during a measurement: one Redis, the service if it is given, and an Envoy for each column,
// so that one column's state cannot weigh on another's. Those that are not being measured are idle.
type rig struct {
	redis   *servers.Redis
	service *service // nil without RATELIMIT_BIN
	columns []*column

	envoyBinary string
}

// startRig returns when every column serves and has shown that it limits.
func startRig(ctx context.Context, s settings, progress io.Writer) (*rig, error) {
	text, err := os.ReadFile(s.bootstrap())
	if err != nil {
		return nil, fmt.Errorf("cannot read Envoy's configuration: %w; run in the project's folder", err)
	}
	module, err := filepath.Abs(s.module())
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(module); err != nil {
		return nil, fmt.Errorf("the module is missing: %w; run make wasm", err)
	}
	r := &rig{}
	if err := r.start(ctx, s, text, module, progress); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, s settings, text []byte, module string, progress io.Writer) error {
	tools := servers.NewToolbox(progress)
	redisBinary, err := tools.Redis(ctx, "")
	if err != nil {
		return err
	}
	if r.envoyBinary, err = tools.Envoy(ctx, ""); err != nil {
		return err
	}
	if r.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: redisBinary}); err != nil {
		return err
	}
	b := backends{redis: r.redis.Addr()}
	if slices.Contains(s.Columns, keyService) {
		if r.service, err = startService(ctx, s.service, b.redis, serviceLimits(), serviceKey); err != nil {
			return err
		}
		b.service = r.service.grpc
	}
	for _, c := range allColumns() {
		if !slices.Contains(s.Columns, c.key) {
			continue
		}
		if err := r.startColumn(ctx, s, c, b, text, module); err != nil {
			return fmt.Errorf("column %s: %w", c.key, err)
		}
	}
	return nil
}

func (r *rig) startColumn(ctx context.Context, s settings, c *column, b backends, text []byte, module string) error {
	port, err := servers.FreePort()
	if err != nil {
		return err
	}
	config, err := envoyConfig(text, c, b, module, port)
	if err != nil {
		return err
	}
	c.envoy, err = servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: r.envoyBinary, Config: config, Concurrency: s.EnvoyWorkers})
	if err != nil {
		return err
	}
	r.columns = append(r.columns, c)
	addr, err := c.envoy.Address(ctx, "public")
	if err != nil {
		return err
	}
	c.url = "http://" + addr
	return checkLimits(ctx, c, r.redis)
}

func (r *rig) stop() {
	for _, c := range r.columns {
		c.envoy.Stop()
	}
	if r.service != nil {
		r.service.stop()
	}
	if r.redis != nil {
		r.redis.Stop()
	}
}
