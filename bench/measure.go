package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// cell is one column under one load in one round. Times are in microseconds.
type cell struct {
	Round             int     `json:"round"`
	Load              loading `json:"load"`
	Column            string  `json:"column"` // key
	Requests          int     `json:"requests"`
	RequestsPerSecond float64 `json:"requests_per_second"`
	P50               float64 `json:"p50_us"`
	P90               float64 `json:"p90_us"`
	P99               float64 `json:"p99_us"`
	P999              float64 `json:"p99_9_us"`
	// Waiting is how many requests at a fixed rate were never sent: the column did not keep up, and the times are those
	// until the load gave up.
	Waiting    int     `json:"never_sent"`
	Decisions  float64 `json:"redis_decisions_per_request"`
	Calls      float64 `json:"redis_commands_per_request"` // those inside of scripts among them
	EnvoyCPU   float64 `json:"envoy_cpu_us_per_request"`
	RedisCPU   float64 `json:"redis_cpu_us_per_request"`
	ServiceCPU float64 `json:"service_cpu_us_per_request"`
	LoadCPU    float64 `json:"load_cpu_us_per_request"` // of the generator, which is none of the column's
	LoadShare  float64 `json:"load_share_of_a_core"`    // how busy the generator was
	LateP99    float64 `json:"load_late_by_p99_us"`     // how late the generator was at a fixed rate
}

// serverCPU is what all servers together spent on a request.
func (c cell) serverCPU() float64 { return c.EnvoyCPU + c.RedisCPU + c.ServiceCPU }

// measure takes all cells. Within a round the columns take turns under each load, and who comes first changes every time:
// whatever else the machine does meets all of them alike.
func measure(ctx context.Context, s settings, r *rig, progress io.Writer) ([]cell, error) {
	fmt.Fprintf(progress, "%s under %s, %s of %d s: about %v\n", figure.Plural(len(r.columns), "column"), figure.Plural(len(s.Loads), "load"),
		figure.Plural(s.Rounds, "round"), s.Seconds, s.duration().Round(time.Second))
	for _, c := range r.columns {
		fmt.Fprintf(progress, "warming up: %s\n", c.title)
		busiest := s.Loads[0]
		for _, l := range s.Loads {
			if !l.open() && l.Connections > busiest.Connections && c.takes(l) {
				busiest = l
			}
		}
		if _, err := r.measureCell(ctx, c, busiest, s.Warmup, 0); err != nil {
			return nil, err
		}
	}
	var cells []cell
	for round := range s.Rounds {
		for i, l := range s.Loads {
			for _, at := range order(len(r.columns), round*len(s.Loads)+i) {
				c := r.columns[at]
				if !c.takes(l) {
					continue
				}
				one, err := r.measureCell(ctx, c, l, s.Seconds, round+1)
				if err != nil {
					return nil, err
				}
				cells = append(cells, one)
				fmt.Fprintf(progress, "round %d of %d, %s: %-24s %8.0f/s  p50 %6.0f us  p99 %6.0f us\n",
					round+1, s.Rounds, l, c.title, one.RequestsPerSecond, one.P50, one.P99)
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

// measureCell runs one load and checks that every request was answered as it should be and counted as its column counts.
func (r *rig) measureCell(ctx context.Context, c *column, l loading, seconds, round int) (cell, error) {
	before, err := r.read(ctx, c)
	if err != nil {
		return cell{}, err
	}
	result, err := l.run(ctx, c, time.Duration(seconds)*time.Second, uint64(round))
	if err != nil {
		return cell{}, fmt.Errorf("%s, %s: %w", c.title, l, err)
	}
	after, err := r.read(ctx, c)
	if err != nil {
		return cell{}, err
	}
	requests := len(result.Answers)
	if requests == 0 {
		return cell{}, fmt.Errorf("%s, %s: nothing was answered in %d s; quiet the machine", c.title, l, seconds)
	}
	decided := after.calls.Decisions - before.calls.Decisions
	err = errors.Join(
		judgeResponses(before.responses, after.responses, c.answers(), int64(requests)),
		judgeDecisions(c.asks, int64(requests), 0, decided),
	)
	if err != nil {
		return cell{}, fmt.Errorf("%s, %s: %w", c.title, l, err)
	}
	each := func(d time.Duration) float64 { return micros(d) / float64(requests) }
	times := result.Times().Quantiles(0.5, 0.9, 0.99, 0.999)
	return cell{
		Round: round, Load: l, Column: c.key, Requests: requests, RequestsPerSecond: result.PerSecond(), Waiting: len(result.Waiting),
		P50: micros(times[0]), P90: micros(times[1]), P99: micros(times[2]), P999: micros(times[3]),
		Decisions: float64(decided) / float64(requests),
		Calls:     float64(after.calls.All-before.calls.All) / float64(requests),
		EnvoyCPU:  each(after.envoy - before.envoy), RedisCPU: each(after.redis - before.redis),
		ServiceCPU: each(after.service - before.service), LoadCPU: each(result.CPU),
		LoadShare: result.CPU.Seconds() / result.Length.Seconds(), LateP99: micros(result.Late.Quantiles(0.99)[0]),
	}, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// reading is what the servers have counted so far.
type reading struct {
	calls                 stand.Calls
	responses             map[string]int64 // by class of status
	envoy, redis, service time.Duration    // processor times
}

func (r *rig) read(ctx context.Context, c *column) (now reading, err error) {
	if now.calls, err = stand.SettledCalls(ctx, r.redis); err != nil {
		return now, err
	}
	if now.responses, err = responses(ctx, c); err != nil {
		return now, err
	}
	if now.envoy, err = stand.CPUTime(c.envoy.PID()); err != nil {
		return now, err
	}
	if now.redis, err = stand.CPUTime(r.redis.PID()); err != nil {
		return now, err
	}
	if c.served != nil {
		now.service, err = stand.CPUTime(c.served.pid())
	}
	return now, err
}
