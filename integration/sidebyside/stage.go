package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// stage is all that runs. service and routelimit are where the two Envoys listen.
type stage struct {
	service, routelimit string
	stops               []func()
}

func (s *stage) stop() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
}

func start(ctx context.Context, binary string, policy []byte) (*stage, error) {
	s := &stage{}
	if err := s.start(ctx, binary, policy); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, binary string, policy []byte) error {
	tools := servers.NewToolbox(os.Stderr)
	redisBinary, err := tools.Redis(ctx, "")
	if err != nil {
		return err
	}
	var stores []string
	for range 2 {
		r, err := servers.StartRedis(ctx, servers.RedisOptions{Binary: redisBinary})
		if err != nil {
			return err
		}
		s.stops = append(s.stops, r.Stop)
		stores = append(stores, r.Addr())
	}
	upstream, err := servers.StartUpstream(servers.UpstreamOptions{})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, upstream.Stop)
	grpc, err := s.startService(ctx, binary, stores[0])
	if err != nil {
		return err
	}
	envoyBinary, err := tools.Envoy(ctx, os.Getenv("ENVOY_VERSION"))
	if err != nil {
		return err
	}
	if s.service, err = s.startEnvoy(ctx, envoyBinary, filepath.Join(folder, "envoy.yaml"), func(c *bootstrap.Config) error {
		return first(c.SetUpstream(upstream.Addr()), c.SetEndpoints("ratelimit", grpc))
	}); err != nil {
		return err
	}
	s.routelimit, err = s.startEnvoy(ctx, envoyBinary, "envoy.yaml", func(c *bootstrap.Config) error {
		return first(c.SetUpstream(upstream.Addr()), c.SetRedis(stores[1]), c.SetPolicy(strings.Replace(string(policy), "{", `{"redis": {"timeout": "5s"},`, 1)))
	})
	return err
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// startEnvoy returns where its public listener is.
func (s *stage) startEnvoy(ctx context.Context, binary, file string, change func(*bootstrap.Config) error) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w; start this in the project's folder", err)
	}
	// On a busy machine no decision may be a matter of patience.
	patient := strings.NewReplacer("op_timeout: 0.025s", "op_timeout: 2s", "connect_timeout: 0.025s", "connect_timeout: 2s").Replace(string(text))
	c, err := bootstrap.Parse([]byte(patient))
	if err != nil {
		return "", err
	}
	c.SetAdmin("127.0.0.1", 0)
	c.RemoveAccessLogs()
	if err := first(c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0), change(c)); err != nil {
		return "", err
	}
	e, err := servers.StartEnvoy(ctx, servers.EnvoyOptions{Binary: binary, Config: c.Bytes()})
	if err != nil {
		return "", err
	}
	s.stops = append(s.stops, e.Stop)
	return e.Address(ctx, bootstrap.PublicListener)
}

// startService runs envoyproxy/ratelimit and returns its gRPC address.
func (s *stage) startService(ctx context.Context, binary, redis string) (string, error) {
	dir, err := os.MkdirTemp("", "routelimit-sidebyside-")
	if err != nil {
		return "", fmt.Errorf("cannot make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	s.stops = append(s.stops, func() { os.RemoveAll(dir) })
	limits, err := os.ReadFile(filepath.Join(folder, "limits.yaml"))
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "ratelimit", "config")
	if err := first(os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, "limits.yaml"), limits, 0o600)); err != nil {
		return "", err
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "USE_STATSD=false", "LOG_LEVEL=error", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL="+redis,
		"RUNTIME_ROOT="+dir, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false")
	var grpc string
	for _, name := range []string{"", "GRPC_", "DEBUG_"} {
		port, err := servers.FreePort()
		if err != nil {
			return "", err
		}
		cmd.Env = append(cmd.Env, name+"HOST=127.0.0.1", name+"PORT="+strconv.Itoa(port))
		if name == "GRPC_" {
			grpc = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
	}
	log, err := os.Create(filepath.Join(dir, "log")) // it says much
	if err != nil {
		return "", err
	}
	s.stops = append(s.stops, func() { log.Close() })
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("cannot run %s, given as RATELIMIT_BIN: %w; give the path of a program for this machine", binary, err)
	}
	s.stops = append(s.stops, func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return grpc, waitFor(ctx, grpc)
}

// waitFor returns when somebody listens.
func waitFor(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service does not listen on %s: %w", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
