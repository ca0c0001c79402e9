package main

import (
	"context"
	"fmt"
	"io"

	"routelimit/bench/figure"
	"routelimit/bench/load"
	"routelimit/bench/stand"
)

// axis is one thing that grows while all else stays as it is: one Envoy of one worker, one Redis, one route with one
// limit, 10,000 callers, 64 connections in a closed loop.
type axis struct {
	name, title string
	x           string // what its values are
	values      []int
	// grow changes the ground for a value.
	grow func(g *ground, value int)
}

// ground is what is measured on.
type ground struct {
	policy      string
	path        string // that is asked for
	asks        int    // decisions a request
	callers     int
	filled      bool // all callers are known to Redis beforehand
	workers     int
	envoys      int
	primaries   int // 1: one Redis without a Cluster
	connections int
	rate        float64
}

// axes are in the order in which they are measured.
func axes() []axis {
	return []axis{
		{"routes", "Routes of the policy", "routes", []int{10, 100, 1000, 10_000}, func(g *ground, n int) {
			g.policy, g.path = routesPolicy(n), stand.RoutePath(n-1)
		}},
		{"limits", "Limits of one identity on the route", "limits", []int{1, 2, 4, 8}, func(g *ground, n int) { g.policy = limitsPolicy(n) }},
		{"keys", "Limits on the route, each of an identity of its own", "identities a request", []int{1, 2, 4, 8}, func(g *ground, n int) {
			g.policy, g.asks = keysPolicy(n), n
		}},
		{"identities", "Identities that Redis holds", "identities", []int{10, 1000, 100_000, 1_000_000}, func(g *ground, n int) {
			g.callers, g.filled = n, true
		}},
		{"rates", "Requests a second to one worker", "requests a second", []int{250, 500, 1000, 2000, 4000, 8000}, func(g *ground, n int) {
			g.rate, g.connections = float64(n), 256
		}},
		{"workers", "Workers of one Envoy", "workers", []int{1, 2}, func(g *ground, n int) { g.workers = n }},
		{"envoys", "Envoys on this machine", "Envoys", []int{1, 2, 3, 4}, func(g *ground, n int) { g.envoys = n }},
		{"primaries", "Redis alone, and a Cluster of three primaries", "primaries", []int{1, 3}, func(g *ground, n int) { g.primaries = n }},
	}
}

// at is the ground of one value.
func (a axis) at(value int) ground {
	g := ground{policy: limitsPolicy(1), path: measuredPath, asks: 1, callers: 10_000, workers: 1, envoys: 1, primaries: 1, connections: 64}
	a.grow(&g, value)
	return g
}

// point is one value of an axis, over all rounds. CPU is in microseconds.
type point struct {
	Value             int           `json:"value"`
	RequestsPerSecond figure.Spread `json:"requests_per_second"`
	P50               figure.Spread `json:"p50_us"`
	P99               figure.Spread `json:"p99_us"`
	EnvoyCPU          figure.Spread `json:"envoy_cpu_us_per_request"`
	RedisCPU          figure.Spread `json:"redis_cpu_us_per_decision"`
	CPURatio          figure.Spread `json:"cpu_of_both_against_the_first_value"` // within each round
	Together          figure.Spread `json:"decisions_read_at_once"`              // by Redis
	Read              figure.Spread `json:"bytes_to_redis_per_decision"`
	Wrote             figure.Spread `json:"bytes_from_redis_per_decision"`
}

// measure takes all values in turn, in each round.
func (a axis) measure(ctx context.Context, s settings, p *stand.Project, progress io.Writer) ([]point, error) {
	var places []*place
	defer func() {
		for _, one := range places {
			one.stop()
		}
	}()
	for _, value := range a.values {
		one, err := startPlace(ctx, p, a.at(value))
		if err != nil {
			return nil, fmt.Errorf("%d %s: %w", value, a.x, err)
		}
		places = append(places, one)
	}
	samples := make([][]sample, len(places))
	for round := range s.Rounds + 1 { // the first one warms up
		for turn := range places {
			at := (turn + round) % len(places)
			one, err := places[at].measure(ctx, s.Seconds, uint64(round))
			if err != nil {
				return nil, fmt.Errorf("%d %s: %w", a.values[at], a.x, err)
			}
			if round == 0 {
				continue
			}
			samples[at] = append(samples[at], one)
			fmt.Fprintf(progress, "round %d of %d, %d %s: %.0f/s, Envoy %.1f us, Redis %.1f us\n",
				round, s.Rounds, a.values[at], a.x, one.perSecond, one.envoyCPU, one.redisCPU)
		}
	}
	return points(a.values, samples), nil
}

func points(values []int, samples [][]sample) (list []point) {
	for i, value := range values {
		over := func(of func(sample) float64) figure.Spread {
			var f []float64
			for _, one := range samples[i] {
				f = append(f, of(one))
			}
			return figure.SpreadOf(f)
		}
		var ratios []float64
		for round, one := range samples[i] {
			ratios = append(ratios, one.bothCPU()/samples[0][round].bothCPU())
		}
		list = append(list, point{
			Value:             value,
			RequestsPerSecond: over(func(s sample) float64 { return s.perSecond }),
			P50:               over(func(s sample) float64 { return s.p50 }),
			P99:               over(func(s sample) float64 { return s.p99 }),
			EnvoyCPU:          over(func(s sample) float64 { return s.envoyCPU }),
			RedisCPU:          over(func(s sample) float64 { return s.redisCPU }),
			CPURatio:          figure.SpreadOf(ratios),
			Together:          over(func(s sample) float64 { return s.together }),
			Read:              over(func(s sample) float64 { return s.read }),
			Wrote:             over(func(s sample) float64 { return s.wrote }),
		})
	}
	return list
}

// httpLoad asks for a path as one of so many callers, each as busy as the others.
func httpLoad(path string, callers int, seed uint64) (load.Protocol, error) {
	caller, err := load.Callers(load.Many, callers, seed)
	if err != nil {
		return nil, err
	}
	return &load.HTTP{Path: path, Header: stand.CallerHeader, Caller: caller, Status: 200}, nil
}
