package top

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Read walks the keys of one Redis, or of all primaries of a Cluster at once.
func Read(ctx context.Context, client redis.UniversalClient, o Options) (*Picture, error) {
	p := &Picture{Used: []Entry{}, Refused: []Entry{}}
	var mu sync.Mutex
	walk := func(ctx context.Context, server redis.Cmdable) error {
		part, err := o.walk(ctx, server)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		p.merge(part, o.Most)
		return nil
	}
	var err error
	if cluster, ok := client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return walk(ctx, node) })
	} else {
		err = walk(ctx, client)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, o.explained(err)
	}
	p.finish(o.Most)
	return p, nil
}

// explained says what to do about an error of Redis.
func (o *Options) explained(err error) error {
	advice := "see whether it runs and can be reached"
	if redis.IsPermissionError(err) {
		advice = "allow this user SCAN, HSCAN and TIME on keys that begin with " + o.Prefix + ":"
	}
	return fmt.Errorf("the keys in Redis cannot be read: %w; %s", err, advice)
}

// walk reads the keys of one server.
func (o *Options) walk(ctx context.Context, server redis.Cmdable) (*Picture, error) {
	p := &Picture{Servers: 1}
	var cursor uint64
	for {
		began := time.Now()
		next, err := o.batch(ctx, server, cursor, p)
		if err != nil {
			return nil, err
		}
		cursor = next
		if p.Sample = cursor != 0 && p.Keys >= o.Keys; cursor == 0 || p.Sample {
			return p, nil
		}
		if err := o.rest(ctx, time.Since(began)); err != nil {
			return nil, err
		}
	}
}

// batch reads about so many keys, in two round trips.
func (o *Options) batch(ctx context.Context, server redis.Cmdable, cursor uint64, p *Picture) (next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var scan *redis.ScanCmd
	var clock *redis.TimeCmd
	if _, err := server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		scan, clock = pipe.ScanType(ctx, cursor, escapeGlob(o.Prefix)+":{*", o.Batch, "hash"), pipe.Time(ctx)
		return nil
	}); err != nil {
		return 0, err
	}
	keys, next := scan.Val()
	if len(keys) == 0 {
		return next, nil
	}
	fields := make([]*redis.ScanCmd, len(keys))
	_, err = server.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			fields[i] = pipe.HScan(ctx, key, 0, "", mostFields)
		}
		return nil
	})
	for i, key := range keys {
		pairs, _, err := fields[i].Result()
		if err != nil {
			continue
		}
		values := map[string]string{}
		for at := 0; at+1 < len(pairs); at += 2 {
			values[pairs[at]] = pairs[at+1]
		}
		p.add(o, key, values, clock.Val().UnixMilli())
	}
	if err != nil && isGone(err) {
		err = nil
	}
	return next, err
}

const (
	mostFields = 100             // read of one key; no key of routelimit has so many
	patience   = 5 * time.Second // for one batch
)

// isGone says that a key is not on this server any more, or was replaced, which tells nothing about the others.
func isGone(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "ASK ") || strings.HasPrefix(text, "WRONGTYPE ")
}

// rest pauses after so much reading, so that reading is no more than its share of the time.
func (o *Options) rest(ctx context.Context, reading time.Duration) error {
	pause := time.Duration(float64(reading) * (1/o.Share - 1))
	if o.Pause != nil {
		return o.Pause(pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// escapeGlob takes a prefix literally in a pattern of SCAN.
func escapeGlob(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(prefix)
}
