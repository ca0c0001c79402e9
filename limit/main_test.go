package limit

import (
	"context"
	"fmt"
	"os"
	"testing"

	"routelimit/servers"
)

// redises are the servers that every test of the scripts runs on.
var redises = []struct {
	name, version string
	*servers.Redis
}{
	{name: "redis-8.2.3", version: "8.2.3"},
	{name: "redis-6.2.5", version: "6.2.5"},
	{name: "valkey-9.1.2", version: "9.1.2"},
}

func TestMain(m *testing.M) { os.Exit(runWithServers(m)) }

func runWithServers(m *testing.M) int {
	ctx := context.Background()
	tools := servers.NewToolbox(os.Stderr)
	for i := range redises {
		path, err := tools.Redis(ctx, redises[i].version)
		if err == nil {
			redises[i].Redis, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: path})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "the tests of package limit need %s: %v\n", redises[i].name, err)
			return 1
		}
		defer redises[i].Stop()
	}
	code := m.Run()
	for _, r := range redises {
		if err := everyKeyExpires(ctx, r.Redis); err != nil {
			fmt.Fprintf(os.Stderr, "G16, after all tests, on %s: %v\n", r.name, err)
			return 1
		}
	}
	return code
}

// everyKeyExpires looks at every key that the tests left behind.
func everyKeyExpires(ctx context.Context, r *servers.Redis) error {
	seen := 0
	keys := r.Client().Scan(ctx, 0, "*", 1000).Iterator()
	for ; keys.Next(ctx); seen++ {
		ttl, err := r.Client().PTTL(ctx, keys.Val()).Result()
		if err != nil {
			return err
		}
		if ttl == -1 {
			return fmt.Errorf("key %q has no expiry", keys.Val())
		}
	}
	if keys.Err() == nil && seen == 0 {
		return fmt.Errorf("no test left a key to look at")
	}
	return keys.Err()
}
