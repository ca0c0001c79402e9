package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"routelimit/servers"
)

// overshootRig is one Redis and, for each limiter, four Envoys. Those that are not being asked are idle.
type overshootRig struct {
	redis      *servers.Redis
	service    *service // nil without RATELIMIT_BIN
	envoys     []*servers.Envoy
	contenders []*contender
	versions   versions
}

func startOvershootRig(ctx context.Context, s settings, progress io.Writer) (*overshootRig, error) {
	r := &overshootRig{}
	if err := r.start(ctx, s, progress); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *overshootRig) start(ctx context.Context, s settings, progress io.Writer) error {
	tools := servers.NewToolbox(progress)
	redisBinary, err := tools.Redis(ctx, "")
	if err != nil {
		return err
	}
	if r.redis, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: redisBinary}); err != nil {
		return err
	}
	envoy, err := tools.Envoy(ctx, "")
	if err != nil {
		return err
	}
	b := backends{redis: r.redis.Addr()}
	if s.service != "" {
		if r.service, err = startService(ctx, s.service, b.redis, overshootServiceLimits(), overshootKeys()["x-minute"]); err != nil {
			return err
		}
		b.service = r.service.grpc
	}
	for _, c := range overshootColumns(s.service != "") {
		urls, err := r.startEnvoys(ctx, s, envoy, c, b)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.key, err)
		}
		r.contenders = append(r.contenders, contendersOf(c, urls)...)
	}
	r.versions, err = describeServers(ctx, s, envoy, r.redis, r.service)
	return err
}

func (r *overshootRig) startEnvoys(ctx context.Context, s settings, binary string, c *column, b backends) (urls []string, err error) {
	text, err := os.ReadFile(s.bootstrap())
	if err != nil {
		return nil, fmt.Errorf("cannot read Envoy's configuration: %w; run in the project's folder", err)
	}
	module, err := filepath.Abs(s.module())
	if err != nil {
		return nil, err
	}
	for range overshootEnvoys {
		port, err := servers.FreePort()
		if err != nil {
			return nil, err
		}
		config, err := envoyConfig(text, c, b, module, port)
		if err != nil {
			return nil, err
		}
		e, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: binary, Config: config, Concurrency: s.EnvoyWorkers})
		if err != nil {
			return nil, err
		}
		r.envoys = append(r.envoys, e)
		addr, err := e.Address(ctx, "public")
		if err != nil {
			return nil, err
		}
		urls = append(urls, "http://"+addr)
	}
	return urls, nil
}

func (r *overshootRig) stop() {
	for _, e := range r.envoys {
		e.Stop()
	}
	if r.service != nil {
		r.service.stop()
	}
	if r.redis != nil {
		r.redis.Stop()
	}
}
