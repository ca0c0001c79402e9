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
	return m.Run()
}
