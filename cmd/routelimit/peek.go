package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/resp"
	"routelimit/stored"
)

func peekCommand() *cobra.Command {
	var f identityFlags
	cmd := &cobra.Command{
		Use:   "peek KEY | METHOD URL",
		Short: "Show what Redis holds of one caller",
		Long: `Show in words what Redis holds of one caller: each field of a key, when the key goes, and what is left under the policy. The
caller is given by a key, as log lines, explain and top show it, or by a request, as explain takes it; a request may be counted
under several keys. With a key, the policy is left out unless --policy names one. Nothing is counted or changed.

  routelimit peek --redis redis://127.0.0.1:6379 'rl:{POST:/login|ip:203.0.113.7}'
  routelimit peek --redis redis://127.0.0.1:6379 POST /login --from 203.0.113.7 -H 'content-type: application/json' -d '{"username": "alice"}'

Exit code 0: it was read. 1: Redis does not answer, or the policy is wrong. 2: the command line or a file cannot be read.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasData = cmd.Flags().Changed("data") || f.dataFile != ""
			return f.peek(cmd, args)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *identityFlags) peek(cmd *cobra.Command, args []string) error {
	keys, p, err := f.named(cmd, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), redisPatience)
	defer cancel()
	given, err := f.redis.find(ctx)
	if err != nil {
		return findings(err)
	}
	client := given.client()
	defer client.Close()
	var seen []peeked
	for _, key := range keys {
		one, err := peekAt(ctx, client, key, p)
		if err != nil {
			return &failure{exitFindings, err}
		}
		seen = append(seen, one)
	}
	if f.output == "json" {
		writeJSON(cmd.OutOrStdout(), struct {
			Keys []peeked `json:"keys"`
		}{seen})
		return nil
	}
	for i, one := range seen {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		one.print(cmd.OutOrStdout())
	}
	return nil
}

// peeked is what Redis holds under one key, as programs read it.
type peeked struct {
	Key     string         `json:"key"`
	Scope   string         `json:"scope"`
	Exists  bool           `json:"exists"`
	Foreign string         `json:"foreign,omitempty"`
	NowMS   int64          `json:"now_ms"`
	TTLMS   int64          `json:"ttl_ms"` // 0: none
	Fields  []stored.Field `json:"fields"`
	Left    []peekedLeft   `json:"left,omitempty"`

	state *stored.State
}

// peekedLeft is what is left of one limit.
type peekedLeft struct {
	Limit     string `json:"limit"`
	Terms     string `json:"terms"`
	Remaining int64  `json:"remaining"`
	Of        int64  `json:"of"`
	ResetMS   int64  `json:"reset_ms"`
	Varies    bool   `json:"varies"` // this is what the default leaves
	Shadow    bool   `json:"shadow"`
}

// peekAt reads one key, and with a policy what is left.
func peekAt(ctx context.Context, client redis.UniversalClient, key stored.Key, p *policy.Policy) (peeked, error) {
	state, err := stored.Read(ctx, client, key)
	if err != nil {
		return peeked{}, err
	}
	one := peeked{
		Key: key.Text, Scope: key.Scope, Exists: state.Exists, Foreign: state.Foreign, NowMS: state.NowMS,
		TTLMS: state.TTL.Milliseconds(), Fields: append([]stored.Field{}, state.Fields...), state: state,
	}
	if p == nil || state.Foreign != "" {
		return one, nil
	}
	limits := stored.Limits(p, key, state.Fields)
	verdicts, err := stored.Left(key, limits, func(command []byte) (resp.Value, error) { return ask(ctx, client, command) })
	if err != nil {
		return one, fmt.Errorf("key %s: what is left cannot be asked: %w", key.Text, err)
	}
	for i, l := range limits {
		one.Left = append(one.Left, peekedLeft{
			Limit: l.Name, Terms: limitTerms(l), Remaining: verdicts[i].Remaining, Of: l.Capacity(),
			ResetMS: verdicts[i].Reset.Milliseconds(), Varies: l.Varies(), Shadow: l.Shadow,
		})
	}
	return one, nil
}

// limitTerms are a limit in words: 10 in 5m by sliding_log.
func limitTerms(l *policy.Limit) string {
	text := fmt.Sprintf("%d in %s by %s", l.Limit.Limit, l.Labels.Window, l.Labels.Algorithm)
	if l.Algorithm == limit.TokenBucket && l.Burst > 0 {
		text += fmt.Sprintf(" with a burst of %d", l.Burst)
	}
	return text
}

func (p *peeked) print(out io.Writer) {
	fmt.Fprintf(out, "key        %s\n", visible(p.Key))
	switch {
	case !p.Exists:
		fmt.Fprintln(out, "           not there: nothing is counted, or what was has passed")
	case p.Foreign != "":
		fmt.Fprintf(out, "           none of routelimit's: %s\n", visible(p.Foreign))
	case p.TTLMS == 0:
		fmt.Fprintln(out, "expires    never; the next request repairs that")
	default:
		fmt.Fprintf(out, "expires    in %s\n", inWords(time.Duration(p.TTLMS)*time.Millisecond))
	}
	for _, f := range p.Fields {
		fmt.Fprintf(out, "field      %s: %s\n", visible(f.Name), f.Words(p.NowMS))
	}
	for _, l := range p.Left {
		fmt.Fprintf(out, "left       %d of %d under %s: %s", l.Remaining, l.Of, visible(l.Limit), l.Terms)
		if l.ResetMS > 0 {
			fmt.Fprintf(out, ", more in %s", inWords(time.Duration(l.ResetMS)*time.Millisecond))
		}
		if l.Varies {
			fmt.Fprint(out, ", for callers of no plan")
		}
		if l.Shadow {
			fmt.Fprint(out, ", shadow: refuses nobody")
		}
		fmt.Fprintln(out)
	}
}
