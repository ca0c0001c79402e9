package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// counts are how many requests stand charged in a key's fields: "w300" -> 4.
type counts map[string]int64

// stored reads the fields of a key. There are none where there is no key.
func stored(t testing.TB, c redis.Cmdable, key string) counts {
	t.Helper()
	fields, err := c.HGetAll(context.Background(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	list := counts{}
	for field, text := range fields {
		if list[field], err = charged(field, text); err != nil {
			t.Fatalf("key %s: %v", key, err)
		}
	}
	return list
}

// charged reads one field, as the head of limit/decide.lua describes them.
func charged(field, text string) (int64, error) {
	family := strings.TrimLeft(field, "~")
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(family, "w") && len(words) == 3:
		return strconv.ParseInt(words[1], 10, 64)
	case strings.HasPrefix(family, "l") && len(text)%6 == 0:
		return int64(len(text) / 6), nil
	case strings.HasPrefix(family, "b") && len(words) == 2:
		deficit, err := strconv.ParseInt(words[1], 10, 64)
		seconds, wrong := strconv.ParseInt(family[1:], 10, 64)
		token := 1000 * max(1, seconds)
		return (deficit + token - 1) / token, errors.Join(err, wrong)
	}
	return 0, fmt.Errorf("field %q holds %q, which is none of ours", field, text)
}

// keys are all keys of a server.
func keys(ctx context.Context, c *redis.Client) ([]string, error) {
	var list []string
	iterator := c.Scan(ctx, 0, "*", 1000).Iterator()
	for iterator.Next(ctx) {
		list = append(list, iterator.Val())
	}
	slices.Sort(list)
	return list, iterator.Err()
}

// keysNow are all keys of the store.
func keysNow(t testing.TB) []string {
	t.Helper()
	list, err := keys(context.Background(), store.get(t).Client())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// steadyWindow returns when the store's clock is at least 20 seconds from the next full five minutes, of which all windows
// in these tests are multiples whose counts matter: what a test counts until then stands in one window.
func steadyWindow(t *testing.T, r *servers.Redis) {
	t.Helper()
	waitForWindow(t, r, 5*time.Minute, 20*time.Second)
}

// waitForWindow returns when there is that much left of a window.
func waitForWindow(t *testing.T, r *servers.Redis, window, need time.Duration) {
	t.Helper()
	eventually(t, "a window with some time left", func() error {
		now, err := r.Client().Time(t.Context()).Result()
		if err != nil {
			return err
		}
		if left := now.Truncate(window).Add(window).Sub(now); left < need {
			return fmt.Errorf("%v left", left)
		}
		return nil
	})
}

// pause freezes the store until resume is called, or the test ends: its connections stay open and nothing is answered.
func pause(t *testing.T) (resume func()) {
	t.Helper()
	if err := store.get(t).Pause(); err != nil {
		t.Fatal(err)
	}
	resume = sync.OnceFunc(func() {
		if err := store.get(t).Resume(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	return resume
}

// kill ends the store until restart is called, or the test ends. It starts with nothing in it.
func kill(t *testing.T) (restart func()) {
	t.Helper()
	store.get(t).Kill()
	restart = sync.OnceFunc(func() {
		if err := store.get(t).Restart(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restart)
	return restart
}
