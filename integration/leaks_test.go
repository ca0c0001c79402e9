package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// hush is part of every username and every API key in these tests: where it shows, a secret shows.
const hush = "hush"

// checkKeys looks at every key of a server: each is ours, ends some day, and holds no secret.
func checkKeys(ctx context.Context, c *redis.Client) error {
	list, err := keys(ctx, c)
	if err != nil {
		return err
	}
	for _, key := range list {
		ttl, err := c.PTTL(ctx, key).Result()
		switch {
		case err != nil:
			return err
		case ttl == -1:
			return fmt.Errorf("G16: key %q has no expiry", key)
		case !strings.HasPrefix(key, "rl:{") || !strings.HasSuffix(key, "}"):
			return fmt.Errorf("key %q has not the form of ours", key)
		case shows(key):
			return fmt.Errorf("G08: key %q holds a secret", key)
		}
	}
	return nil
}

// shows says that a text holds a secret in clear.
func shows(text string) bool { return strings.Contains(strings.ToLower(text), hush) }

// checkWhatIsLeft looks, after all tests, at the Envoys' logs and metrics.
func checkWhatIsLeft(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var wrong []error
	for _, s := range started {
		if e, ok := s.(*servers.Envoy); ok {
			wrong = append(wrong, checkLog(e), checkMetrics(ctx, e))
		}
	}
	return errors.Join(wrong...)
}

func checkLog(e *servers.Envoy) error {
	log := e.Log()
	for line := range strings.Lines(log) {
		if shows(line) {
			return fmt.Errorf("the log of the Envoy at %s holds a secret: %s", e.AdminURL(), strings.TrimSpace(line))
		}
	}
	return nil
}

// checkMetrics finds no secret in any metric's name, and that the module has never panicked or died.
func checkMetrics(ctx context.Context, e *servers.Envoy) error {
	page, err := e.Prometheus(ctx)
	if err != nil {
		return err
	}
	text, err := e.Get(ctx, "/stats")
	if err != nil {
		return err
	}
	if shows(page + string(text)) {
		return fmt.Errorf("a metric of the Envoy at %s holds a secret", e.AdminURL())
	}
	stats, err := e.Stats(ctx, `routelimit_panics_total|vm_reload|^wasm\.`)
	if err != nil {
		return err
	}
	if n := stats["wasmcustom.routelimit_panics_total"]; n != 0 {
		_, first, _ := strings.Cut(e.Log(), "recovered panic")
		return fmt.Errorf("the module panicked %d times, first %.2000s", n, first)
	}
	for name, n := range stats {
		if strings.Contains(name, "vm_reload") && n != 0 {
			return fmt.Errorf("%s of the Envoy at %s is %d: a VM died", name, e.AdminURL(), n)
		}
	}
	return nil
}
