package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"routelimit/limit"
	"routelimit/resp"
)

// tryDecision has a Redis decide once, as the module will have it do, so that one that cannot is told of at once and not by
// every request. The key that it takes is deleted, or gone after a few seconds.
func tryDecision(ctx context.Context, client redis.UniversalClient, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	charges := []limit.Charge{limit.NewCharge(&limit.Limit{Algorithm: limit.FixedWindow, Limit: limit.MaxLimit, Window: limit.MinWindow}, 1)}
	key := prefix + ":{try|all}"
	defer client.Del(ctx, key)
	short := limit.AppendDecide(nil, []byte(key), 0, charges)
	for _, command := range [][]byte{limit.AppendEval(nil, short), short} {
		reply, err := ask(ctx, client, command)
		if err != nil {
			return err
		}
		if reply.Kind == resp.Error {
			return fmt.Errorf("redis cannot decide: %s; %s", reply.Text, cure(resp.ClassifyError(reply.Text)))
		}
		if err := limit.ReadDecision(reply, charges, &limit.Decision{}); err != nil {
			return fmt.Errorf("redis cannot decide: %w", err)
		}
	}
	return nil
}

// cure is what to do about a Redis that cannot decide.
func cure(f resp.Failure) string {
	switch f {
	case resp.Unsupported:
		return "give it Redis 6.2 or newer, or Valkey, with EVAL and EVALSHA"
	case resp.Auth:
		return "allow the user EVAL, EVALSHA and what limit/decide.lua calls, on keys with the policy's prefix"
	case resp.ReadOnly:
		return "give it the primary, this is a replica"
	case resp.OOM:
		return "give it more memory"
	}
	return "see what docs/operations.md says about " + f.String()
}
