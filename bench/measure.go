package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// cell is one column under one load in one round. Times are in microseconds.
type cell struct {
	Round             int     `json:"round"`
	Connections       int     `json:"connections"`
	Column            string  `json:"column"` // key
	Requests          int64   `json:"requests"`
	RequestsPerSecond float64 `json:"requests_per_second"`
	P50               float64 `json:"p50_us"`
	P90               float64 `json:"p90_us"`
	P99               float64 `json:"p99_us"`
	Max               float64 `json:"max_us"`
	Decisions         float64 `json:"redis_decisions_per_request"`
	EnvoyCPU          float64 `json:"envoy_cpu_us_per_request"`
	RedisCPU          float64 `json:"redis_cpu_us_per_request"`
	ServiceCPU        float64 `json:"service_cpu_us_per_request"`
}

// measure takes all cells. Within a round the columns take turns at each number of connections, and who comes first
// changes every time: whatever else the machine does meets all of them alike.
func measure(ctx context.Context, s settings, r *rig, l *load, progress io.Writer) ([]cell, error) {
	fmt.Fprintf(progress, "%d columns, each at %v connections, %d rounds of %d s: about %v\n",
		len(r.columns), s.Connections, s.Rounds, s.Seconds, s.duration().Round(time.Second))
	for _, c := range r.columns {
		fmt.Fprintf(progress, "warming up: %s\n", c.title)
		if _, err := r.measureCell(ctx, c, l, s.Connections[len(s.Connections)-1], s.Warmup); err != nil {
			return nil, err
		}
	}
	var cells []cell
	for round := range s.Rounds {
		for i, connections := range s.Connections {
			for _, at := range order(len(r.columns), round*len(s.Connections)+i) {
				c := r.columns[at]
				one, err := r.measureCell(ctx, c, l, connections, s.Seconds)
				if err != nil {
					return nil, err
				}
				one.Round = round + 1
				cells = append(cells, one)
				fmt.Fprintf(progress, "round %d of %d, connections %d: %-20s %8.0f/s  p50 %6.0f us  p99 %6.0f us\n",
					one.Round, s.Rounds, connections, c.title, one.RequestsPerSecond, one.P50, one.P99)
			}
		}
	}
	return cells, nil
}

// order is 0 to n-1, begun at turn and, every second time around, backwards: no column always follows the same one.
func order(n, turn int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (turn + i) % n
		if turn/n%2 == 1 {
			list[i] = (turn + n - i) % n
		}
	}
	return list
}

// measureCell runs one load and checks that every request was answered with 200 and counted as its column counts.
func (r *rig) measureCell(ctx context.Context, c *column, l *load, connections, seconds int) (cell, error) {
	before, err := r.read(ctx, c)
	if err != nil {
		return cell{}, err
	}
	result, err := l.run(ctx, c.url, connections, seconds)
	if err != nil {
		return cell{}, fmt.Errorf("%s at %d connections: %w", c.title, connections, err)
	}
	after, err := r.read(ctx, c)
	if err != nil {
		return cell{}, err
	}
	decided := after.decisions - before.decisions
	// wrk cuts off what is on its way when the time is over: at most one request a connection.
	err = errors.Join(
		judgeResponses(before.responses, after.responses, result.Requests, int64(connections)),
		judgeDecisions(c.counts, result.Requests, int64(connections), decided),
	)
	if err != nil {
		return cell{}, fmt.Errorf("%s at %d connections: %w", c.title, connections, err)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(result.Requests) }
	return cell{
		Connections:       connections,
		Column:            c.key,
		Requests:          result.Requests,
		RequestsPerSecond: float64(result.Requests) / (float64(result.Duration) / 1e6),
		P50:               float64(result.P50),
		P90:               float64(result.P90),
		P99:               float64(result.P99),
		Max:               float64(result.Max),
		Decisions:         float64(decided) / float64(result.Requests),
		EnvoyCPU:          each(after.envoy - before.envoy),
		RedisCPU:          each(after.redis - before.redis),
		ServiceCPU:        each(after.service - before.service),
	}, nil
}

// reading is what the servers have counted so far.
type reading struct {
	decisions             int64
	responses             map[string]int64 // by class of status
	envoy, redis, service time.Duration    // processor times
}

func (r *rig) read(ctx context.Context, c *column) (now reading, err error) {
	if now.decisions, err = settled(ctx, r.redis); err != nil {
		return now, err
	}
	if now.responses, err = responses(ctx, c); err != nil {
		return now, err
	}
	if now.envoy, err = cpuTime(c.envoy.PID()); err != nil {
		return now, err
	}
	if now.redis, err = cpuTime(r.redis.PID()); err != nil {
		return now, err
	}
	if r.service != nil {
		now.service, err = cpuTime(r.service.pid())
	}
	return now, err
}
