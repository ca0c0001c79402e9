package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"routelimit/bootstrap"
	hosttest "routelimit/host-test"
	"routelimit/live"
	"routelimit/servers"
	"routelimit/standalone"
)

// engine is what serves requests: an Envoy, or the module without one.
type engine interface {
	live.Source
	Stop()
	Done() <-chan struct{} // closed when it has ended
	LogFile() string
	Log() string
}

// The engines' names, as --engine takes them.
const (
	withEnvoy  = "envoy"
	withWazero = "wazero"
)

// envoyEngine is an Envoy.
type envoyEngine struct{ *servers.Envoy }

// customMetrics is what Envoy puts in front of a module's metrics.
const customMetrics = "wasmcustom."

// Read implements live.Source.
func (e envoyEngine) Read(ctx context.Context) (*live.Reading, error) {
	stats, err := e.Stats(ctx, `^wasmcustom\.routelimit_`)
	if err != nil {
		return nil, err
	}
	reading := &live.Reading{Values: map[string]uint64{}}
	for name, value := range stats {
		reading.Values[strings.TrimPrefix(name, customMetrics)] = uint64(max(0, value))
	}
	reading.Decisions, err = e.Histogram(ctx, customMetrics+decisionTime)
	return reading, err
}

const decisionTime = "routelimit_decision_us"

func (s *stage) startEnvoy(ctx context.Context) error {
	if err := s.config.SetListener(bootstrap.PublicListener, s.flags.listen, s.flags.port); err != nil {
		return err
	}
	s.config.SetAdmin("127.0.0.1", s.flags.adminPort)
	fmt.Fprintln(s.progress, "starting Envoy, which compiles the module: a few seconds")
	started, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{
		Binary: s.envoyBinary, Config: s.config.Bytes(), Concurrency: s.flags.concurrency,
	})
	var refused *servers.EnvoyConfigError
	if errors.As(err, &refused) {
		return fmt.Errorf("%s: %w", s.flags.config, err)
	}
	if err != nil {
		return err
	}
	s.engine, s.admin = envoyEngine{started}, started.AdminURL()
	s.public, err = started.Address(ctx, bootstrap.PublicListener)
	return err
}

// wazeroEngine is the module without an Envoy.
type wazeroEngine struct {
	*standalone.Server
	module *hosttest.Module
	log    *os.File
}

func (s *stage) startWazero(ctx context.Context) (err error) {
	front, _, err := s.config.Front()
	if err != nil {
		return usage(fmt.Errorf("%s: %w", s.flags.config, err))
	}
	wasm, err := s.readModule()
	if err != nil {
		return err
	}
	e := &wazeroEngine{}
	defer func() {
		if err != nil {
			e.free()
		}
	}()
	fmt.Fprintln(s.progress, "compiling the module: a few seconds, the first time")
	if e.module, err = compileModule(ctx, wasm); err != nil {
		return err
	}
	if e.log, err = os.CreateTemp("", "routelimit-*.log"); err != nil {
		return fmt.Errorf("cannot write a log: %w; set TMPDIR to a folder that can be written", err)
	}
	e.Server, err = standalone.Start(ctx, standalone.Options{
		Module: e.module, Policy: []byte(s.raw), Cluster: s.policy.Redis.Cluster, KeyPrefix: s.policy.Redis.KeyPrefix, Env: s.env, Front: &front,
		Redis: s.client, Patience: s.policy.Redis.Timeout / 2,
		Host: s.flags.listen, Port: s.flags.port, Upstream: s.upstreamAddr(), Workers: s.flags.concurrency, Log: e.log,
	})
	if err != nil {
		return err
	}
	s.engine, s.public = e, e.Addr()
	return nil
}

// Read implements live.Source.
func (e *wazeroEngine) Read(context.Context) (*live.Reading, error) {
	m, err := e.Metrics()
	if err != nil {
		return nil, err
	}
	return &live.Reading{Values: m.Values, Decisions: m.Histograms[decisionTime]}, nil
}

// Stop ends it and removes its log.
func (e *wazeroEngine) Stop() {
	e.Server.Stop()
	e.free()
}

func (e *wazeroEngine) free() {
	if e.module != nil {
		_ = e.module.Close(context.Background()) // it frees memory
	}
	if e.log != nil {
		e.log.Close()
		os.Remove(e.log.Name())
	}
}

// LogFile is the file with the module's lines.
func (e *wazeroEngine) LogFile() string { return e.log.Name() }

// Log is everything that was logged so far.
func (e *wazeroEngine) Log() string {
	text, err := os.ReadFile(e.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
