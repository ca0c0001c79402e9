package main

import (
	"context"
	"fmt"
	"time"

	"routelimit/bench/load"
	"routelimit/bench/stand"
)

// memoryReport is what an Envoy has in memory after a load on all its workers, in bytes.
type memoryReport struct {
	Subject   string        `json:"subject"`
	ByWorkers map[int]int64 `json:"bytes_by_workers"`
	// EachWorker is what one more worker takes.
	EachWorker int64 `json:"bytes_for_each_worker"`
}

var memoryWorkers = []int{1, 4}

func (b *bench) measureMemory(ctx context.Context) (list []memoryReport, err error) {
	for _, s := range subjects() {
		r := memoryReport{Subject: s.title, ByWorkers: map[int]int64{}}
		for _, workers := range memoryWorkers {
			fmt.Fprintf(b.progress, "memory: %s, %d workers\n", s.title, workers)
			if r.ByWorkers[workers], err = b.memory(ctx, s, workers); err != nil {
				return nil, fmt.Errorf("%s: %w", s.title, err)
			}
		}
		few, many := memoryWorkers[0], memoryWorkers[1]
		r.EachWorker = (r.ByWorkers[many] - r.ByWorkers[few]) / int64(many-few)
		list = append(list, r)
	}
	return list, nil
}

// memory loads an Envoy for a second, over so many connections that each worker has some.
func (b *bench) memory(ctx context.Context, s subject, workers int) (int64, error) {
	e, addr, err := b.project.StartEnvoy(ctx, b.redis.Addr(), workers, s.change(0))
	if err != nil {
		return 0, err
	}
	defer e.Stop()
	if _, err := b.load(ctx, s, addr, 64, 0, time.Second); err != nil {
		return 0, err
	}
	return stand.Memory(e.PID())
}

// load asks as one of 1,000 callers. Envoy may close a connection of an older configuration just as a request comes: then
// the request is sent again, and its time runs on.
func (b *bench) load(ctx context.Context, s subject, addr string, connections int, rate float64, length time.Duration) (*load.Result, error) {
	caller, err := load.Callers(load.Many, 1000, 1)
	if err != nil {
		return nil, err
	}
	return load.Run(ctx, load.Plan{
		Addrs: []string{addr}, Connections: connections, Rate: rate, Length: length, Seed: 1, Resend: true,
		Speak: &load.HTTP{Path: s.path(), Header: stand.CallerHeader, Caller: caller, Status: 200},
	})
}
