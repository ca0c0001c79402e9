package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"routelimit/servers"
)

// bridgeProgram is what make build leaves, from the project's folder.
const bridgeProgram = "build/routelimit"

// startBridge runs routelimit bridge on loopback, and returns when Redis answers it.
func startBridge(ctx context.Context, program, redisAddr string) (*service, error) {
	dir, err := os.MkdirTemp("", "routelimit-bridge-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	s := &service{dir: dir, done: make(chan struct{})}
	admin, err := s.startBridge(program, redisAddr)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serviceStartTime)
	defer cancel()
	if err := s.waitFor(ctx, "http://"+admin+"/readyz", "ok"); err != nil {
		log := s.log()
		s.stop()
		return nil, fmt.Errorf("routelimit bridge did not start: %w: %s; run make build", err, log)
	}
	return s, nil
}

func (s *service) startBridge(program, redisAddr string) (admin string, err error) {
	out, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	var addrs []string
	for range 2 {
		port, err := servers.FreePort()
		if err != nil {
			return "", err
		}
		addrs = append(addrs, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	s.grpc = addrs[0]
	s.cmd = exec.Command(program, "bridge", "--redis", "redis://"+redisAddr, "--listen", s.grpc, "--admin", addrs[1], "--timeout", bridgeTimeout)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		return "", fmt.Errorf("cannot run %s: %w; run make build", program, err)
	}
	go func() {
		s.cmd.Wait() // it is ended by a signal: how does not matter
		close(s.done)
	}()
	return addrs[1], nil
}
