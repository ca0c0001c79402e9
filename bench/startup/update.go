package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"routelimit/bench/load"
	"routelimit/bench/stand"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// updateReport is what requests took at a fixed rate, first while nothing changed and then while Envoy was given another
// policy again and again, in milliseconds.
type updateReport struct {
	Subject string `json:"subject"`
	Updates int    `json:"updates"` // that Envoy took over
	// Requests were all answered as they should be; a failed one ends the measurement.
	Requests int `json:"requests"`
	// Resent are those on whose connection Envoy hung up before it answered.
	Resent  int       `json:"sent_again"`
	Quiet   latencies `json:"without_updates_ms"`
	Updated latencies `json:"with_updates_ms"`
}

type latencies struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

const (
	updateEach = 2 * time.Second
	drainTime  = "1" // seconds, after which connections of the older configuration are closed
)

func (b *bench) measureUpdates(ctx context.Context) (list []updateReport, err error) {
	for _, s := range subjects() {
		fmt.Fprintf(b.progress, "updates: %s\n", s.title)
		one, err := b.updates(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func (b *bench) updates(ctx context.Context, s subject) (updateReport, error) {
	r := updateReport{Subject: s.title}
	folder, err := os.MkdirTemp("", "routelimit-startup-")
	if err != nil {
		return r, fmt.Errorf("cannot make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	defer os.RemoveAll(folder)
	e, addr, err := b.startUpdated(ctx, s, folder)
	if err != nil {
		return r, err
	}
	defer e.Stop()
	length := time.Duration(b.settings.Seconds) * time.Second
	const connections = 32
	if _, err := b.load(ctx, s, addr, connections, float64(b.settings.Rate), time.Second); err != nil { // warms up
		return r, err
	}
	quiet, err := b.load(ctx, s, addr, connections, float64(b.settings.Rate), length)
	if err != nil {
		return r, err
	}
	before, err := applied(ctx, e)
	if err != nil {
		return r, err
	}
	versions, err := b.versions(s, folder)
	if err != nil {
		return r, err
	}
	loading, stop := context.WithCancel(ctx)
	defer stop()
	published := make(chan error, 1)
	go func() {
		published <- publishEach(loading, folder, versions)
	}()
	updated, err := b.load(ctx, s, addr, connections, float64(b.settings.Rate), length)
	stop()
	if err := errors.Join(err, <-published); err != nil {
		return r, err
	}
	after, err := applied(ctx, e)
	if err != nil {
		return r, err
	}
	r.Updates = int(after - before)
	if r.Updates < 1 {
		return r, fmt.Errorf("envoy took no update over; give -seconds more than %v", updateEach)
	}
	r.Requests = len(quiet.Answers) + len(updated.Answers)
	r.Resent = quiet.Resent + updated.Resent
	r.Quiet, r.Updated = latenciesOf(quiet), latenciesOf(updated)
	return r, nil
}

// startUpdated runs an Envoy whose public listener is in a file.
func (b *bench) startUpdated(ctx context.Context, s subject, folder string) (*servers.Envoy, string, error) {
	config, listener, err := b.configure(s, folder, 0)
	if err != nil {
		return nil, "", err
	}
	if err := stand.PublishListener(folder, listener); err != nil {
		return nil, "", err
	}
	e, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: b.project.Envoy, Config: config, Args: []string{"--drain-time-s", drainTime}})
	if err != nil {
		return nil, "", err
	}
	addr, err := e.Address(ctx, bootstrap.PublicListener)
	if err != nil {
		e.Stop()
		return nil, "", err
	}
	return e, addr, nil
}

func (b *bench) configure(s subject, folder string, version int) ([]byte, map[string]any, error) {
	config, err := b.project.Config(b.redis.Addr(), s.change(version))
	if err != nil {
		return nil, nil, err
	}
	return stand.TakeListener(config, folder)
}

// versions are made before the load, which is not to be disturbed.
func (b *bench) versions(s subject, folder string) (list []map[string]any, err error) {
	for n := range b.settings.Seconds * int(time.Second) / int(updateEach) {
		_, listener, err := b.configure(s, folder, n+1)
		if err != nil {
			return nil, err
		}
		list = append(list, listener)
	}
	return list, nil
}

// publishEach publishes a version every other second, until ctx ends.
func publishEach(ctx context.Context, folder string, versions []map[string]any) error {
	tick := time.NewTicker(updateEach)
	defer tick.Stop()
	for _, listener := range versions {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := stand.PublishListener(folder, listener); err != nil {
			return err
		}
	}
	return nil
}

// applied is how many configurations of listeners Envoy took over. One that it refused is an error.
func applied(ctx context.Context, e *servers.Envoy) (int64, error) {
	stats, err := e.Stats(ctx, `^listener_manager\.lds\.update_(success|rejected)$`)
	if err != nil {
		return 0, err
	}
	if n := stats["listener_manager.lds.update_rejected"]; n != 0 {
		return 0, fmt.Errorf("envoy refused %d configurations; see its log %s", n, e.LogFile())
	}
	return stats["listener_manager.lds.update_success"], nil
}

func latenciesOf(r *load.Result) latencies {
	q := r.Times().Quantiles(0.5, 0.99, 1)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return latencies{P50: ms(q[0]), P99: ms(q[1]), Max: ms(q[2])}
}
