package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"routelimit/policy"
	"routelimit/resp"
	"routelimit/stored"
)

func resetCommand() *cobra.Command {
	var f identityFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset KEY | METHOD URL",
		Short: "Forget what was counted of one caller",
		Long: `Delete one key in Redis, so that its caller begins anew. The caller is given as for peek, by a key or by a request; where a
request is counted under several keys, --limit says which one is meant. What stands in the key is shown first, and it is deleted
after a yes on standard input, or with --yes. Workers that refused this caller may go on doing so from memory for a while.

  routelimit reset --redis redis://127.0.0.1:6379 'rl:{POST:/login|ip:203.0.113.7}'
  routelimit reset --redis redis://127.0.0.1:6379 POST /login --from 203.0.113.7 --limit address --yes

Exit code 0: the key is gone, or was not there. 1: nothing was deleted. 2: the command line or a file cannot be read.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasData = cmd.Flags().Changed("data") || f.dataFile != ""
			return f.reset(cmd, args, yes)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return cmd
}

func (f *identityFlags) reset(cmd *cobra.Command, args []string, yes bool) error {
	if !yes && (f.dataFile == "-" || f.policy == "-") {
		return usage(errors.New("standard input is read for a file, so it cannot say yes; give --yes, or the file by its name"))
	}
	if !yes && f.output == "json" {
		return usage(errors.New("--output json asks no questions; give --yes"))
	}
	keys, p, err := f.named(cmd, args)
	if err != nil {
		return err
	}
	if len(keys) > 1 {
		return usage(fmt.Errorf("this request is counted under %d keys, and one is deleted at a time; choose with --limit, or give one of\n%s", len(keys), keyLines(keys)))
	}
	given, err := f.redis.find(cmd.Context())
	if err != nil {
		return findings(err)
	}
	client := given.client()
	defer client.Close()
	one, err := peekWithin(cmd.Context(), client, keys[0], p)
	if err != nil {
		return &failure{exitFindings, err}
	}
	if one.Foreign != "" {
		return &failure{exitFindings, fmt.Errorf("key %s is none of routelimit's: %s; delete it with redis-cli, if it is meant", one.Key, one.Foreign)}
	}
	out := cmd.OutOrStdout()
	if f.output == "text" {
		one.print(out)
	}
	if one.Exists && !yes && !confirmed(cmd.InOrStdin(), out) {
		return &failure{exitFindings, errors.New("nothing was deleted; answer yes, or give --yes")}
	}
	deleted, err := deleteKey(cmd.Context(), client, one.Key)
	if err != nil {
		return &failure{exitFindings, err}
	}
	f.tell(out, one, deleted, memoryOf(p))
	return nil
}

func keyLines(keys []stored.Key) string {
	var lines []string
	for _, key := range keys {
		lines = append(lines, "  '"+key.Text+"'")
	}
	return strings.Join(lines, "\n")
}

func peekWithin(ctx context.Context, client redis.UniversalClient, key stored.Key, p *policy.Policy) (peeked, error) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	return peekAt(ctx, client, key, p)
}

// confirmed asks on out, and reads a line.
func confirmed(stdin io.Reader, out io.Writer) bool {
	fmt.Fprint(out, "delete this key? [yes/no] ")
	line, _ := bufio.NewReader(stdin).ReadString('\n')
	if !isTerminal(out) {
		fmt.Fprintln(out)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// deleteKey deletes exactly one key, and says whether it was there.
func deleteKey(ctx context.Context, client redis.UniversalClient, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	n, err := client.Del(ctx, key).Result()
	if err != nil {
		return false, fmt.Errorf("key %s cannot be deleted: %w; %s", key, err, cureOfDelete(err))
	}
	return n > 0, nil
}

func cureOfDelete(err error) string {
	switch resp.ClassifyError([]byte(err.Error())) {
	case resp.Auth:
		return "allow this user DEL"
	case resp.ReadOnly:
		return "give it the primary, this is a replica"
	}
	return "try again when Redis answers"
}

// memoryOf is for how long workers refuse from memory.
func memoryOf(p *policy.Policy) time.Duration {
	if p == nil {
		p, _ = policy.Parse(nil, nil) // what holds where nothing is said
	}
	return p.DenyCache.MaxTime
}

func (f *identityFlags) tell(out io.Writer, one peeked, deleted bool, memory time.Duration) {
	if f.output == "json" {
		writeJSON(out, struct {
			peeked
			Deleted  bool  `json:"deleted"`
			MemoryMS int64 `json:"refused_from_memory_ms"` // for so long at most
		}{one, deleted, memory.Milliseconds()})
		return
	}
	if !deleted {
		fmt.Fprintln(out, "deleted nothing: the key is not there; see who is counted with routelimit top, and give the key as it stands there")
		return
	}
	fmt.Fprintf(out, "deleted %s with %s\n", visible(one.Key), plural(len(one.Fields), "field"))
	if memory > 0 {
		fmt.Fprintf(out, "workers that refused this caller may refuse from memory for up to %s more (deny_cache.max_time)\n", inWords(memory))
	}
}
