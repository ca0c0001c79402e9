package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/limit"
	"routelimit/resp"
)

// testStore has a real Redis count for tests, under keys that are one run's own.
type testStore struct {
	ctx    context.Context
	client redis.UniversalClient
	prefix string
	keys   map[string]bool // what was written and not yet removed
}

func openTestStore(ctx context.Context, access *redisAccess) (*testStore, error) {
	given, err := access.find(ctx)
	if err != nil {
		return nil, err
	}
	s := &testStore{ctx: ctx, client: given.client(), prefix: "routelimit-test-" + rand.Text(), keys: map[string]bool{}}
	if err := tryDecision(ctx, s.client, s.prefix); err != nil {
		s.client.Close()
		return nil, err
	}
	return s, nil
}

func (s *testStore) close() {
	s.Forget()
	s.client.Close()
}

// Do implements policytest.Store.
func (s *testStore) Do(command [][]byte, nowMS int64) ([]byte, error) {
	var whole []byte
	if len(command) > 4 {
		limit.SetTime(command[4], nowMS)
		s.keys[string(command[3])] = true
	}
	whole = resp.AppendArray(whole, len(command))
	for _, word := range command {
		whole = resp.AppendBulk(whole, word)
	}
	ctx, cancel := context.WithTimeout(s.ctx, redisPatience)
	defer cancel()
	reply, err := ask(ctx, s.client, whole)
	if err != nil {
		return nil, err
	}
	switch reply.Kind {
	case resp.Error:
		return append(append([]byte{'-'}, reply.Text...), "\r\n"...), nil
	case resp.Integer:
		return append(strconv.AppendInt([]byte{':'}, reply.Int, 10), "\r\n"...), nil
	}
	return resp.AppendBulk(nil, reply.Text), nil
}

// Forget implements policytest.Store. It removes one key at a time, which every Cluster takes.
func (s *testStore) Forget() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 10*time.Second)
	defer cancel()
	var failed error
	for key := range s.keys {
		if err := s.client.Del(ctx, key).Err(); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	clear(s.keys)
	if failed != nil {
		return fmt.Errorf("the tests' keys cannot be removed: %w; they begin with %s: and end by themselves within a day or their longest window", failed, s.prefix)
	}
	return nil
}
