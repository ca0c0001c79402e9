package live

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"routelimit/servers"
)

// Source gives readings: an Envoy, or the module without one.
type Source interface {
	Read(ctx context.Context) (*Reading, error)
}

const (
	period    = time.Second
	kept      = 300 // samples: five minutes
	patience  = 2 * time.Second
	maxRoutes = 1000 // of one sample that are told apart
	recent    = 5    // samples, over which a trouble is told of
)

// sample is what happened between two readings.
type sample struct {
	routes    map[string]point
	p50, p99  float64 // in microseconds; 0: nothing was decided
	decisions uint64
	undecided uint64 // requests that went by on_error
	failures  uint64 // questions to Redis that brought no decision
}

type point struct{ requests, refused uint64 }

// sampler reads a source again and again.
type sampler struct {
	source Source

	mu      sync.Mutex
	last    *Reading
	routes  map[string]*counts
	samples []sample // oldest first
	problem string   // why the last reading failed; "" if it did not
}

// run reads until ctx ends.
func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		s.read(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *sampler) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reading, err := s.source.Read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem = ""; err != nil {
		s.problem = "the metrics cannot be read: " + err.Error()
		return
	}
	routes := byRoute(reading)
	if s.last != nil {
		s.keep(s.between(reading, routes))
	}
	s.last, s.routes = reading, routes
}

func (s *sampler) keep(one sample) {
	if s.samples = append(s.samples, one); len(s.samples) > kept {
		s.samples = append(s.samples[:0], s.samples[1:]...)
	}
}

// between is what happened since the last reading.
func (s *sampler) between(now *Reading, routes map[string]*counts) sample {
	one := sample{routes: map[string]point{}}
	for key, after := range routes {
		var before Outcomes
		if r := s.routes[key]; r != nil {
			before = r.Outcomes
		}
		if key != unreadable {
			one.undecided += since(after.undecided(), before.undecided())
		}
		p := point{since(after.all(), before.all()), since(after.turnedAway(), before.turnedAway())}
		if p != (point{}) && len(one.routes) < maxRoutes {
			one.routes[key] = p
		}
	}
	one.p50, one.p99, one.decisions = quantiles(s.last.Decisions, now.Decisions)
	one.failures = since(failed(now), failed(s.last))
	return one
}

// unreadable is the route of requests whose limits could not be read, which no Redis would have decided.
const unreadable = "unreadable"

// failed counts the questions to Redis that brought no decision, of all kinds.
func failed(r *Reading) (n uint64) {
	for _, of := range kinds(r, "routelimit_failures_total", "kind") {
		n += of
	}
	return n
}

// trouble says that Redis does not decide now; "" if it does.
func (s *sampler) trouble() string {
	var undecided, failures uint64
	for _, one := range s.samples[max(0, len(s.samples)-recent):] {
		undecided, failures = undecided+one.undecided, failures+one.failures
	}
	if undecided == 0 && failures == 0 {
		return ""
	}
	return fmt.Sprintf("Redis does not decide: routes go by their on_error. In the last %s %d requests did, and %d questions brought no decision", recent*period, undecided, failures)
}

// since is how much a counter has grown. One that begins anew has grown from 0.
func since(now, before uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// quantiles are the bounds below which half, and 99 of 100, of the values lie that came between two states of a histogram.
func quantiles(before, after []servers.Bucket) (p50, p99 float64, n uint64) {
	if len(after) == 0 {
		return 0, 0, 0
	}
	if len(before) != len(after) || before[len(before)-1].Count > after[len(after)-1].Count {
		before = make([]servers.Bucket, len(after))
	}
	n = since(after[len(after)-1].Count, before[len(before)-1].Count)
	below := func(part float64) float64 {
		for i, b := range after {
			if float64(since(b.Count, before[i].Count)) >= part*float64(n) {
				return finite(after, i)
			}
		}
		return 0
	}
	if n == 0 {
		return 0, 0, 0
	}
	return below(0.5), below(0.99), n
}

// finite is a bucket's bound; of the one for everything, the largest there is.
func finite(buckets []servers.Bucket, i int) float64 {
	if i > 0 && math.IsInf(buckets[i].UpTo, 1) {
		return buckets[i-1].UpTo
	}
	return buckets[i].UpTo
}
