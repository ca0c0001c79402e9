package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"routelimit/top"
)

// topFlags are what top was asked for.
type topFlags struct {
	redis          redisAccess
	policy, prefix string
	once           bool
	output         string
	share          float64
	batch, keys    int64
	most           int
	interval       time.Duration
}

func topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch who uses limits most, and who is refused",
		Long: `Show the callers and routes that use most of their limits now, and, with a policy, who has nothing left and is refused. On a
terminal it begins anew after each round, until Ctrl-C; with --once, or where its output is no terminal, it shows one round.
Secret identities are hashes, as in the keys.

It walks the keys by SCAN, on one server or on all primaries of a Cluster, and is gentle: no more than --share percent of the time is
spent reading, no more than --batch keys are read in one go, and no more than --keys of each server in a round. Redis counts what
passed, not what was refused; so those are said to be refused who would be now.

  routelimit top --redis redis://127.0.0.1:6379 --policy envoy.yaml
  routelimit top --redis redis://127.0.0.1:6379 --once --output json

Exit code 0: it was shown. 1: Redis does not answer, or the policy is wrong. 2: the command line or a file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.redis.add(cmd, "URL of the Redis that counts, or REDIS_URL")
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "", "a policy, or an Envoy configuration with one: what the limits are")
	flags.StringVar(&f.prefix, "prefix", "rl", "what keys begin with; with --policy, its redis.key_prefix")
	flags.BoolVar(&f.once, "once", false, "show one round and end")
	flags.StringVar(&f.output, "output", "text", "text, or json for programs: one object a round")
	flags.Float64Var(&f.share, "share", 5, "how much of the time may be spent reading, in percent, on each server")
	flags.Int64Var(&f.batch, "batch", 200, "keys read in one go")
	flags.Int64Var(&f.keys, "keys", 20_000, "keys read of each server in one round; of more, these are a sample")
	flags.IntVar(&f.most, "top", 10, "entries in a list")
	flags.DurationVar(&f.interval, "interval", 2*time.Second, "pause between two rounds")
	return cmd
}

func (f *topFlags) check() error {
	switch {
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output %q is unknown; write text or json", f.output)
	case !(f.share > 0 && f.share <= 100):
		return fmt.Errorf("--share %v is out of range; write a percentage above 0, up to 100", f.share)
	case f.batch < 1 || f.batch > 10_000:
		return fmt.Errorf("--batch %d is out of range; write 1 to 10000", f.batch)
	case f.keys < 1:
		return fmt.Errorf("--keys %d is out of range; write 1 or more", f.keys)
	case f.most < 1 || f.most > 1000:
		return fmt.Errorf("--top %d is out of range; write 1 to 1000", f.most)
	case f.interval < 0:
		return fmt.Errorf("--interval %v is out of range; write 0s or more", f.interval)
	}
	return f.redis.require()
}

func (f *topFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	options := top.Options{Prefix: f.prefix, Share: f.share / 100, Batch: f.batch, Keys: f.keys, Most: f.most}
	if f.policy != "" {
		p, _, err := readPolicy(f.policy, cmd.InOrStdin())
		if err != nil {
			return err
		}
		options.Policy = p
		if !cmd.Flags().Changed("prefix") {
			options.Prefix = p.Redis.KeyPrefix
		}
	}
	given, err := f.redis.find(cmd.Context())
	if err != nil {
		return findings(err)
	}
	client := given.client()
	defer client.Close()
	err = f.watch(cmd.Context(), cmd.OutOrStdout(), client, options)
	if err != nil && cmd.Context().Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	if err != nil {
		return &failure{exitFindings, err}
	}
	return nil
}

// watch shows rounds until the context ends, or one.
func (f *topFlags) watch(ctx context.Context, out io.Writer, client redis.UniversalClient, o top.Options) error {
	live := isTerminal(out) && f.output == "text" && !f.once
	if live {
		fmt.Fprintf(out, "reading up to %s keys of each server\n", grouped(o.Keys))
	}
	for {
		picture, err := top.Read(ctx, client, o)
		if err != nil {
			return err
		}
		if live {
			fmt.Fprint(out, "\x1b[H\x1b[2J") // home, and clear
		}
		if f.output == "json" {
			writeJSON(out, picture)
		} else {
			printPicture(out, picture, &o)
		}
		if !live {
			return nil
		}
		select {
		case <-time.After(f.interval):
		case <-ctx.Done():
			return errors.New("interrupted")
		}
	}
}
