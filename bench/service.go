package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"routelimit/servers"
)

// service is a running envoyproxy/ratelimit.
type service struct {
	cmd  *exec.Cmd
	dir  string
	done chan struct{} // closed when it has ended
	grpc string        // host:port
}

const serviceStartTime = 15 * time.Second

// serviceSettings are those of every form of the service.
func serviceSettings() []string {
	return []string{"USE_STATSD=false", "LOG_LEVEL=error", "REDIS_SOCKET_TYPE=tcp", "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false"}
}

// startService runs the binary on loopback with settings and limits, and returns when it has read these: it shows the key
// of one of them.
func startService(ctx context.Context, binary string, settings []string, redisAddr, limits, key string) (*service, error) {
	dir, err := os.MkdirTemp("", "routelimit-ratelimit-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	s := &service{dir: dir, done: make(chan struct{})}
	debug, err := s.start(binary, settings, redisAddr, limits)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serviceStartTime)
	defer cancel()
	if err := s.waitFor(ctx, "http://"+debug+"/rlconfig", serviceDomain+"."+key); err != nil {
		log := s.log()
		s.stop()
		return nil, fmt.Errorf("%s, given as RATELIMIT_BIN, did not start: %w: %s; check that it is envoyproxy/ratelimit", binary, err, log)
	}
	return s, nil
}

// start writes the limits and runs the process. It returns the address of the debug port.
func (s *service) start(binary string, settings []string, redisAddr, limits string) (debug string, err error) {
	file := filepath.Join(s.dir, "ratelimit", "config", "limits.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		return "", err
	}
	out, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	env := slices.Concat(os.Environ(), serviceSettings(), settings)
	env = append(env, "REDIS_URL="+redisAddr, "RUNTIME_ROOT="+s.dir)
	addr := map[string]string{}
	for _, name := range []string{"", "GRPC_", "DEBUG_"} {
		port, err := servers.FreePort()
		if err != nil {
			return "", err
		}
		env = append(env, name+"HOST=127.0.0.1", name+"PORT="+strconv.Itoa(port))
		addr[name] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	s.grpc = addr["GRPC_"]
	s.cmd = exec.Command(binary)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = env, out, out
	if err := s.cmd.Start(); err != nil {
		return "", fmt.Errorf("cannot run %s, given as RATELIMIT_BIN: %w; give the path of a program for this machine", binary, err)
	}
	go func() {
		s.cmd.Wait() // it is ended by a signal: how does not matter
		close(s.done)
	}()
	return addr["DEBUG_"], nil
}

// waitFor asks a page until it holds a text.
func (s *service) waitFor(ctx context.Context, url, text string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if body, err := fetch(ctx, url); err == nil && strings.Contains(body, text) {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended")
		case <-ctx.Done():
			return fmt.Errorf("%s does not show %q: %w", url, text, ctx.Err())
		case <-tick.C:
		}
	}
}

func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// log is the end of what the process wrote.
func (s *service) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-1000):]))
}

func (s *service) pid() int { return s.cmd.Process.Pid }

func (s *service) stop() {
	s.cmd.Process.Kill() // fails only if it has ended
	<-s.done
	os.RemoveAll(s.dir)
}
