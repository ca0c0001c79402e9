package live

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/policy"
	"routelimit/top"
)

// What looking at the keys may cost Redis.
const (
	share     = 0.02 // of each server's time
	batch     = 100  // keys in one go
	mostKeys  = 20_000
	mostNamed = 15
	pause     = 3 * time.Second  // between two rounds
	watched   = 10 * time.Second // since somebody asked for the numbers
)

// Callers is who uses most of what is allowed, as the keys say.
type Callers struct {
	Seconds int64       `json:"seconds"` // since it was read
	Keys    int64       `json:"keys"`
	Sample  bool        `json:"sample"` // there are more keys
	Refused []top.Entry `json:"refused"`
	Used    []top.Entry `json:"used"`
	Problem string      `json:"problem"`
}

// callers reads the keys while somebody looks.
type callers struct {
	client redis.UniversalClient
	policy *policy.Policy

	mu    sync.Mutex
	asked time.Time
	read  time.Time
	last  *Callers
	wake  chan struct{}
}

func newCallers(client redis.UniversalClient, p *policy.Policy) *callers {
	return &callers{client: client, policy: p, wake: make(chan struct{}, 1)}
}

// look returns what the last round found, nil if there was none, and lets rounds go on.
func (c *callers) look(now time.Time) *Callers {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = now
	select {
	case c.wake <- struct{}{}:
	default:
	}
	if c.last == nil {
		return nil
	}
	shown := *c.last
	shown.Seconds = int64(now.Sub(c.read).Seconds())
	return &shown
}

// run reads round after round until ctx ends.
func (c *callers) run(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		if time.Since(c.lastAsked()) > watched {
			continue
		}
		c.round(ctx)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (c *callers) lastAsked() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *callers) round(ctx context.Context) {
	picture, err := top.Read(ctx, c.client, top.Options{
		Prefix: c.policy.Redis.KeyPrefix, Share: share, Batch: batch, Keys: mostKeys, Most: mostNamed, Policy: c.policy,
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Now()
	if err != nil {
		c.last = &Callers{Problem: err.Error(), Refused: []top.Entry{}, Used: []top.Entry{}}
		return
	}
	c.last = &Callers{Keys: picture.Keys, Sample: picture.Sample, Refused: brief(picture.Refused), Used: brief(picture.Used)}
}

// brief bounds what is shown of each.
func brief(list []top.Entry) []top.Entry {
	for i := range list {
		e := &list[i]
		e.Key, e.Scope, e.Identity, e.Limit = shortened(e.Key), shortened(e.Scope), shortened(e.Identity), shortened(e.Limit)
	}
	return list
}
