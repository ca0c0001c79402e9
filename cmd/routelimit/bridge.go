package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"routelimit/bridge"
)

// bridgeFlags are what bridge was asked for.
type bridgeFlags struct {
	store    storeFlags
	side     sideFlags
	prefixes []string
	timeout  time.Duration

	maxStreams, maxMessage, maxCommands int
	sendTimeout, drainTime              time.Duration
}

func bridgeCommand() *cobra.Command {
	var f bridgeFlags
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Serve the module's stream to Redis, where no listener can be added to an Envoy",
		Long: `Take the gRPC stream that the module opens, and ask Redis: one server, a Redis Cluster (--cluster) or the primary that Sentinels
know (--sentinel). The module's redis.cluster has to name an Envoy cluster of HTTP/2 that leads here; no gateway and no redis_proxy
are needed then. Only routelimit's own scripts are forwarded, on keys under --key-prefix; anything else gets an error.

  routelimit bridge --redis redis://127.0.0.1:6379
  routelimit bridge --cluster --redis rediss://routelimit@redis-0.example:6379,rediss://redis-1.example:6379 --redis-ca ca.pem --redis-password-file password
  routelimit bridge --sentinel main --redis redis://sentinel-0.example:26379 --listen unix:///run/routelimit/bridge.sock

On SIGTERM it takes no more streams, answers what it is asked at that moment, and ends.

Exit code 0: it was told to end. 1: it could not serve. 2: the command line or a file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.store.add(cmd)
	f.side.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.prefixes, "key-prefix", []string{"rl"}, "what keys begin with: redis.key_prefix of the policy; several with commas between")
	flags.DurationVar(&f.timeout, "timeout", 25*time.Millisecond, "what Redis gets to answer; about half of the policy's redis.timeout")
	flags.IntVar(&f.maxStreams, "max-streams", 1024, "streams at once; every worker of every Envoy has one")
	flags.IntVar(&f.maxMessage, "max-message", 4<<20, "bytes of a message of the module's")
	flags.IntVar(&f.maxCommands, "max-commands", 65536, "commands that wait for Redis at once")
	flags.DurationVar(&f.sendTimeout, "send-timeout", 5*time.Second, "what a client gets to take replies, before its stream is ended")
	flags.DurationVar(&f.drainTime, "drain-time", 10*time.Second, "what streams get to end")
	return cmd
}

func (f *bridgeFlags) check() error {
	switch {
	case f.timeout < time.Millisecond || f.timeout > 10*time.Second:
		return fmt.Errorf("--timeout %v is out of range; write 1ms to 10s", f.timeout)
	case f.maxStreams < 1 || f.maxStreams > 1_000_000:
		return fmt.Errorf("--max-streams %d is out of range; write 1 to 1000000", f.maxStreams)
	case f.maxMessage < 1<<16 || f.maxMessage > 1<<30:
		return fmt.Errorf("--max-message %d is out of range; write 65536 to 1073741824", f.maxMessage)
	case f.maxCommands < 1 || f.maxCommands > 10_000_000:
		return fmt.Errorf("--max-commands %d is out of range; write 1 to 10000000", f.maxCommands)
	case f.sendTimeout < time.Millisecond || f.drainTime < time.Millisecond:
		return fmt.Errorf("--send-timeout %v or --drain-time %v is too short; write 1ms or more", f.sendTimeout, f.drainTime)
	case len(f.prefixes) == 0:
		return fmt.Errorf("--key-prefix is empty; write what the policy has as redis.key_prefix, rl unless it says otherwise")
	}
	for _, p := range f.prefixes {
		if p == "" || strings.ContainsAny(p, "{}: ") {
			return fmt.Errorf("--key-prefix %q is none; write what the policy has as redis.key_prefix", p)
		}
	}
	return nil
}

func (f *bridgeFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return &failure{exitUsage, err}
	}
	store, err := f.store.read()
	if err != nil {
		return &failure{exitUsage, err}
	}
	secure, err := f.side.tls()
	if err != nil {
		return &failure{exitUsage, err}
	}
	streams, err := f.side.listen()
	if err != nil {
		return &failure{exitFindings, err}
	}
	defer streams.Close()
	var admin net.Listener
	if f.side.admin != "" {
		if admin, err = net.Listen("tcp", f.side.admin); err != nil {
			return &failure{exitFindings, fmt.Errorf("%w; write another --admin, or an empty one for none", err)}
		}
		defer admin.Close()
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	log.Info("serving", "streams", streams.Addr(), "admin", f.side.admin, "redis", strings.Join(store.Addrs, ","), "pid", os.Getpid())
	if secure == nil && !isLocal(streams.Addr()) {
		log.Warn("whoever reaches this address can charge and refuse callers; give --tls-client-ca, or listen on loopback or a socket")
	}
	b := bridge.New(bridge.Options{
		Store: store, Prefixes: f.prefixes, Timeout: f.timeout, TLS: secure,
		MaxStreams: f.maxStreams, MaxMessage: f.maxMessage, MaxCommands: f.maxCommands,
		SendTimeout: f.sendTimeout, DrainTime: f.drainTime, Log: log,
	})
	if err := b.Serve(cmd.Context(), streams, admin); err != nil {
		return &failure{exitFindings, err}
	}
	return nil
}
