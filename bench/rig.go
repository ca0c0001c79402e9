package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// rig is everything that runs during a measurement: one Redis, the service in each of its forms, and an Envoy for each
// column, so that one column's state cannot weigh on another's. Those that are not being measured are idle.
type rig struct {
	project *stand.Project
	redis   *servers.Redis
	columns []*column
}

// startRig returns when every column serves and has shown that it limits.
func startRig(ctx context.Context, s settings, progress io.Writer) (*rig, error) {
	project, err := stand.OpenProject(ctx, s.dir, progress)
	if err != nil {
		return nil, err
	}
	r := &rig{project: project}
	if err := r.start(ctx, s, progress); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, s settings, progress io.Writer) (err error) {
	if r.redis, err = r.project.StartRedis(ctx); err != nil {
		return err
	}
	for _, c := range allColumns() {
		if !slices.Contains(s.Columns, c.key) {
			continue
		}
		fmt.Fprintf(progress, "starting: %s\n", c.title)
		r.columns = append(r.columns, c)
		if err := r.startColumn(ctx, s, c); err != nil {
			return fmt.Errorf("column %s: %w", c.key, err)
		}
	}
	for _, c := range r.columns {
		if err := r.exhaust(ctx, c); err != nil {
			return fmt.Errorf("column %s: %w", c.key, err)
		}
	}
	return nil
}

func (r *rig) startColumn(ctx context.Context, s settings, c *column) (err error) {
	b := backends{redis: r.redis.Addr(), headers: s.Headers}
	if c.service != nil {
		if c.served, err = startService(ctx, s.service, c.service, b.redis, serviceLimits(), serviceKey); err != nil {
			return err
		}
		b.service = c.served.grpc
	}
	if c.bridged {
		if c.served, err = startBridge(ctx, filepath.Join(s.dir, bridgeProgram), b.redis); err != nil {
			return err
		}
		b.service = c.served.grpc
	}
	c.envoy, c.addr, err = r.project.StartEnvoy(ctx, b.redis, s.EnvoyWorkers, func(config *bootstrap.Config) error {
		return c.configure(config, b)
	})
	if err != nil {
		return err
	}
	return checkLimits(ctx, c, r.redis)
}

// exhaust uses up the measured caller's limit, where refusals are measured.
func (r *rig) exhaust(ctx context.Context, c *column) error {
	if c.answers() == http.StatusOK {
		return nil
	}
	caller, err := load.Callers(load.Hot, callers, 0)
	if err != nil {
		return err
	}
	const enough = 20 // each worker has to have seen a refusal
	for range enough {
		if _, err := ask(ctx, c, measuredPath, caller()); err != nil {
			return err
		}
	}
	return nil
}

// serviceBinary is envoyproxy/ratelimit's, if it takes part.
func (r *rig) serviceBinary(s settings) string {
	for _, c := range r.columns {
		if c.service != nil {
			return s.service
		}
	}
	return ""
}

func (r *rig) stop() {
	for _, c := range r.columns {
		if c.envoy != nil {
			c.envoy.Stop()
		}
		if c.served != nil {
			c.served.stop()
		}
	}
	if r.redis != nil {
		r.redis.Stop()
	}
}
