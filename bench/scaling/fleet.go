package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/servers"
)

const (
	fleetName    = "fleet"
	fleetWorkers = 2                     // of each Envoy
	fleetCallers = 1_000_000             // of the whole fleet
	deadline     = 25 * time.Millisecond // redis_proxy's op_timeout in envoy.yaml
)

var (
	fleetEnvoys = []int{10, 100, 1000}
	fleetRates  = []int{2000, 5000, 10_000, 20_000, 40_000, 80_000, 120_000} // decisions a second, of the whole fleet
)

// fleetPoint is what one Redis did for so many workers' connections at one rate, over all rounds. CPU and times are in
// microseconds.
type fleetPoint struct {
	Envoys      int           `json:"envoys"`
	Connections int           `json:"connections"`
	Rate        int           `json:"decisions_a_second_asked"`
	PerSecond   figure.Spread `json:"decisions_a_second"`
	CPU         figure.Spread `json:"redis_cpu_us_per_decision"`
	Share       figure.Spread `json:"redis_share_of_a_core"`
	Together    figure.Spread `json:"decisions_a_message"`
	P50         figure.Spread `json:"p50_us"`
	P99         figure.Spread `json:"p99_us"`
	Read        figure.Spread `json:"bytes_to_redis_per_decision"`
	Wrote       figure.Spread `json:"bytes_from_redis_per_decision"`
	Memory      int64         `json:"redis_bytes"`
	LoadShare   figure.Spread `json:"load_share_of_a_core"`
	// Late says that in some round one answer of a hundred came after the deadline, or not at all.
	Late bool `json:"late"`
}

// measureFleet opens as many connections to one Redis as the workers of a fleet would, and sends on each what its worker
// would: the module's commands, those that come while an answer is awaited together in the next message. The rate grows
// until answers are late.
func measureFleet(ctx context.Context, s settings, p *stand.Project, progress io.Writer) ([]fleetPoint, error) {
	redis, err := p.StartRedis(ctx)
	if err != nil {
		return nil, err
	}
	defer redis.Stop()
	fmt.Fprintf(progress, "fleet: filling Redis with %d identities\n", fleetCallers)
	if err := fill(ctx, redis, fleetCallers); err != nil {
		return nil, err
	}
	var points []fleetPoint
	for _, envoys := range fleetEnvoys {
		for _, rate := range fleetRates {
			one, err := measureFleetPoint(ctx, s, redis, envoys, rate)
			if err != nil {
				return nil, fmt.Errorf("%d Envoys: %w", envoys, err)
			}
			fmt.Fprintf(progress, "%d connections, %d a second: Redis %.1f us, %.2f of a core, p99 %.0f us\n",
				one.Connections, rate, one.CPU.Median, one.Share.Median, one.P99.Median)
			points = append(points, one)
			if one.Late {
				break
			}
		}
	}
	return points, nil
}

func measureFleetPoint(ctx context.Context, s settings, redis *servers.Redis, envoys, rate int) (fleetPoint, error) {
	f := fleetPoint{Envoys: envoys, Connections: envoys * fleetWorkers, Rate: rate}
	spreads := map[*figure.Spread][]float64{}
	for round := range s.Rounds {
		caller, err := load.Callers(load.Many, fleetCallers, uint64(round))
		if err != nil {
			return f, err
		}
		before, err := readRedis(ctx, redis)
		if err != nil {
			return f, err
		}
		r, err := load.Run(ctx, load.Plan{
			Addrs: []string{redis.Addr()}, Connections: f.Connections, Rate: float64(rate), Gather: true,
			Length: time.Duration(s.Seconds) * time.Second, Seed: uint64(round), Speak: newTalk(caller),
		})
		if err != nil {
			return f, err
		}
		after, err := readRedis(ctx, redis)
		if err != nil {
			return f, err
		}
		calls := after.calls.Less(before.calls)
		if calls.Decisions == 0 {
			return f, fmt.Errorf("redis decided nothing in %d s; quiet the machine", s.Seconds)
		}
		decisions, cpu := float64(calls.Decisions), after.redis-before.redis
		times := r.Times().Quantiles(0.5, 0.99)
		f.Late = f.Late || len(r.Waiting) > 0 || times[1] > deadline
		for spread, value := range map[*figure.Spread]float64{
			&f.PerSecond: r.PerSecond(), &f.CPU: micros(cpu) / decisions, &f.Share: cpu.Seconds() / r.Length.Seconds(),
			&f.Together: decisions / float64(r.Messages), &f.P50: micros(times[0]), &f.P99: micros(times[1]),
			&f.Read: float64(calls.Read) / decisions, &f.Wrote: float64(calls.Wrote) / decisions,
			&f.LoadShare: r.CPU.Seconds() / r.Length.Seconds(),
		} {
			spreads[spread] = append(spreads[spread], value)
		}
	}
	for spread, values := range spreads {
		*spread = figure.SpreadOf(values)
	}
	var err error
	f.Memory, err = stand.Memory(redis.PID())
	return f, err
}

func readRedis(ctx context.Context, r *servers.Redis) (now reading, err error) {
	if now.calls, err = stand.SettledCalls(ctx, r); err != nil {
		return now, err
	}
	now.redis, err = stand.CPUTime(r.PID())
	return now, err
}
