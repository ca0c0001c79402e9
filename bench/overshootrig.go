package main

import (
	"context"
	"fmt"
	"io"

	"routelimit/bench/stand"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// overshootRig is one Redis and, for each limiter, four Envoys. Those that are not being asked are idle.
type overshootRig struct {
	redis      *servers.Redis
	service    *service // nil without RATELIMIT_BIN
	envoys     []*servers.Envoy
	contenders []*contender
	versions   stand.Versions
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
	project, err := stand.OpenProject(ctx, s.dir, progress)
	if err != nil {
		return err
	}
	if r.redis, err = project.StartRedis(ctx); err != nil {
		return err
	}
	b := backends{redis: r.redis.Addr(), headers: true}
	if s.service != "" {
		if r.service, err = startService(ctx, s.service, find(overshootService).service, b.redis, overshootServiceLimits(), overshootKeys()["x-minute"]); err != nil {
			return err
		}
		b.service = r.service.grpc
	}
	for _, c := range overshootColumns(s.service != "") {
		urls, err := r.startEnvoys(ctx, s, project, c, b)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.key, err)
		}
		r.contenders = append(r.contenders, contendersOf(c, urls)...)
	}
	r.versions, err = project.DescribeVersions(ctx, r.redis, s.service)
	return err
}

func (r *overshootRig) startEnvoys(ctx context.Context, s settings, p *stand.Project, c *column, b backends) (urls []string, err error) {
	for range overshootEnvoys {
		e, addr, err := p.StartEnvoy(ctx, b.redis, s.EnvoyWorkers, func(config *bootstrap.Config) error { return c.configure(config, b) })
		if err != nil {
			return nil, err
		}
		r.envoys = append(r.envoys, e)
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
