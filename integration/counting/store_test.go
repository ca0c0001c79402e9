package counting

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
)

// store is where counts are kept: one server, or a Cluster of three primaries with a replica each.
type store struct {
	name   string // as in test names
	binary string

	single *servers.Redis
	nodes  *servers.Cluster // nil for one server
	asOne  bool             // start one server
}

// choose is every server and every Cluster with -all, else one of each.
func choose(ctx context.Context, tools *servers.Toolbox) ([]*store, error) {
	versions := []string{""}
	if *all {
		versions = servers.RedisVersions()
		if os.Getenv("REDIS") != "" {
			versions = append(versions, "")
		}
	}
	var list []*store
	for _, version := range versions {
		binary, err := tools.Redis(ctx, version)
		if err != nil {
			return nil, err
		}
		name, err := nameOf(ctx, binary)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(s *store) bool { return s.name == name }) {
			continue // REDIS= names one that is fetched as well
		}
		list = append(list, &store{name: name, binary: binary, asOne: true}, &store{name: name + "_cluster", binary: binary})
	}
	return list, nil
}

// nameOf is what a server calls itself: "Redis server v=8.2.3 …" is redis-8.2.3.
func nameOf(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", binary, err)
	}
	words := strings.Fields(string(out))
	for _, word := range words {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return strings.ToLower(words[0]) + "-" + version, nil
		}
	}
	return "", fmt.Errorf("%s does not say its version: %s", binary, out)
}

func (s *store) start(ctx context.Context) (err error) {
	if s.asOne {
		s.single, err = servers.StartRedis(ctx, servers.RedisOptions{Binary: s.binary})
		return err
	}
	s.nodes, err = servers.StartCluster(ctx, servers.ClusterOptions{
		Binary: s.binary, Primaries: 3, Replicas: 1, Args: []string{"--cluster-require-full-coverage", "no"},
	})
	return err
}

func (s *store) stop() {
	if s.single != nil {
		s.single.Stop()
	}
	if s.nodes != nil {
		s.nodes.Stop()
	}
}

func isCluster(s *store) bool { return s.nodes != nil }

// client asks whichever node has the key.
func (s *store) client() redis.Cmdable {
	if s.nodes != nil {
		return s.nodes.Client()
	}
	return s.single.Client()
}

// primaries are the servers that count.
func (s *store) primaries(t *testing.T) []*servers.Redis {
	t.Helper()
	if s.single != nil {
		return []*servers.Redis{s.single}
	}
	list, err := s.nodes.Primaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// servers are all that run, replicas too.
func (s *store) servers() []*servers.Redis {
	if s.single != nil {
		return []*servers.Redis{s.single}
	}
	return s.nodes.Nodes
}

// primaryOf is the server that counts under a key.
func (s *store) primaryOf(t *testing.T, key string) *servers.Redis {
	t.Helper()
	if s.single != nil {
		return s.single
	}
	node, err := s.nodes.PrimaryOf(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// keys are all keys that a server has.
func keys(t *testing.T, server *servers.Redis) []string {
	t.Helper()
	var list []string
	iterator := server.Client().Scan(t.Context(), 0, "*", 1000).Iterator()
	for iterator.Next(t.Context()) {
		list = append(list, iterator.Val())
	}
	if err := iterator.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// total is how many requests stand charged under the limit "total" of a key, whatever midnight did to its window.
func (s *store) total(t *testing.T, key string) int {
	t.Helper()
	text, err := s.client().HGet(context.Background(), key, totalField).Result()
	if err == redis.Nil {
		return 0
	}
	words := strings.Fields(text)
	if err != nil || len(words) != 3 {
		t.Fatalf("%s %s holds %q, %v", key, totalField, text, err)
	}
	sum := 0
	for _, word := range words[1:] {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// calls are how often a store's servers were called, or failed, by what INFO calls it: "cmdstat_eval", "errorstat_MOVED".
func (s *store) calls(t *testing.T, name string) int {
	t.Helper()
	sum := 0
	for _, server := range s.servers() {
		info, err := server.Client().Info(t.Context(), "all").Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(info) {
			rest, found := strings.CutPrefix(line, name+":")
			if !found {
				continue
			}
			// calls=12,usec=120,… or count=3
			_, count, _ := strings.Cut(strings.TrimSpace(rest), "=")
			count, _, _ = strings.Cut(count, ",")
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
