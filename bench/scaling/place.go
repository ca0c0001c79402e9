package main

import (
	"context"
	"fmt"
	"time"

	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// place is servers that run for one value of an axis.
type place struct {
	ground
	addrs   []string
	envoys  []*servers.Envoy
	redis   *servers.Redis
	cluster *servers.Cluster
}

// startPlace returns when all servers serve.
func startPlace(ctx context.Context, p *stand.Project, g ground) (*place, error) {
	at := &place{ground: g}
	if err := at.start(ctx, p); err != nil {
		at.stop()
		return nil, err
	}
	return at, nil
}

func (p *place) start(ctx context.Context, project *stand.Project) (err error) {
	if p.primaries > 1 {
		p.cluster, err = servers.StartCluster(ctx, servers.ClusterOptions{Binary: project.Redis, Primaries: p.primaries})
	} else {
		p.redis, err = project.StartRedis(ctx)
	}
	if err != nil {
		return err
	}
	if p.filled {
		if err := fill(ctx, p.redis, p.callers); err != nil {
			return err
		}
	}
	for range p.ground.envoys {
		e, addr, err := project.StartEnvoy(ctx, p.nodes()[0].Addr(), p.workers, p.configure)
		if err != nil {
			return err
		}
		p.envoys, p.addrs = append(p.envoys, e), append(p.addrs, addr)
	}
	return nil
}

func (p *place) configure(c *bootstrap.Config) error {
	if p.cluster != nil {
		if err := c.SetRedisCluster(p.cluster.Addrs()...); err != nil {
			return err
		}
	}
	if err := stand.SetProxyTimeout(c, stand.ProxyTimeout); err != nil {
		return err
	}
	return stand.Limit(c, p.policy)
}

func (p *place) nodes() []*servers.Redis {
	if p.cluster != nil {
		return p.cluster.Nodes
	}
	return []*servers.Redis{p.redis}
}

func (p *place) stop() {
	for _, e := range p.envoys {
		e.Stop()
	}
	if p.cluster != nil {
		p.cluster.Stop()
	}
	if p.redis != nil {
		p.redis.Stop()
	}
}

// sample is one value in one round. CPU and times are in microseconds.
type sample struct {
	perSecond, p50, p99 float64
	envoyCPU            float64 // a request
	redisCPU            float64 // a decision
	asks                float64 // decisions a request
	together            float64 // decisions that Redis read at once
	read, wrote         float64 // bytes a decision
}

// bothCPU is what Envoy and Redis spent on a request.
func (s sample) bothCPU() float64 { return s.envoyCPU + s.redisCPU*s.asks }

// measure runs one load and checks that Redis decided on every request as often as it should.
func (p *place) measure(ctx context.Context, seconds int, seed uint64) (sample, error) {
	speak, err := httpLoad(p.path, p.callers, seed)
	if err != nil {
		return sample{}, err
	}
	before, err := p.read(ctx)
	if err != nil {
		return sample{}, err
	}
	r, err := load.Run(ctx, load.Plan{
		Addrs: p.addrs, Connections: p.connections, Rate: p.rate, Length: time.Duration(seconds) * time.Second, Seed: seed, Speak: speak,
	})
	if err != nil {
		return sample{}, err
	}
	after, err := p.read(ctx)
	if err != nil {
		return sample{}, err
	}
	requests, calls := float64(len(r.Answers)), after.calls.Less(before.calls)
	if err := p.judge(len(r.Answers), calls.Decisions); err != nil {
		return sample{}, err
	}
	if calls.Decisions == 0 || calls.Reads == 0 {
		return sample{}, fmt.Errorf("redis shows %d decisions and %d reads; take Redis 6 or newer, and quiet the machine", calls.Decisions, calls.Reads)
	}
	decisions := float64(calls.Decisions)
	times := r.Times().Quantiles(0.5, 0.99)
	return sample{
		perSecond: r.PerSecond(), p50: micros(times[0]), p99: micros(times[1]),
		envoyCPU: micros(after.envoy-before.envoy) / requests,
		redisCPU: micros(after.redis-before.redis) / decisions,
		asks:     decisions / requests,
		together: decisions / float64(calls.Reads),
		read:     float64(calls.Read) / decisions, wrote: float64(calls.Wrote) / decisions,
	}, nil
}

// judge allows for scripts that are sent twice, since a server does not know them yet, and for slots that are asked for at
// another node first.
func (p *place) judge(requests int, decided int64) error {
	want := int64(requests * p.asks)
	if more := int64(p.asks * p.primaries * p.connections); decided < want || decided > want+more {
		return fmt.Errorf("redis was asked %d times for %d requests, not %d times; see INFO commandstats", decided, requests, want)
	}
	return nil
}

// reading is what the servers have counted so far.
type reading struct {
	calls        stand.Calls
	envoy, redis time.Duration
}

func (p *place) read(ctx context.Context) (now reading, err error) {
	if now.calls, err = stand.SettledCalls(ctx, p.nodes()...); err != nil {
		return now, err
	}
	for _, e := range p.envoys {
		one, err := stand.CPUTime(e.PID())
		if err != nil {
			return now, err
		}
		now.envoy += one
	}
	for _, r := range p.nodes() {
		one, err := stand.CPUTime(r.PID())
		if err != nil {
			return now, err
		}
		now.redis += one
	}
	return now, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
