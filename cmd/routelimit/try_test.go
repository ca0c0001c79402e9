package main

import (
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// A Redis that answers and cannot decide is told of before anything is said to run.
func TestG22_RunSaysAtOnceThatARedisCannotDecide(t *testing.T) {
	binary := servertest.Redis(t, "")
	start := func(args ...string) *servers.Redis {
		return servertest.StartRedis(t, servers.RedisOptions{Binary: binary, Args: args})
	}
	replica := start("--replicaof", "127.0.0.1 1")
	old := start("--rename-command", "EVALSHA", "")
	guarded := start()
	if err := guarded.Client().Do(t.Context(), "ACL", "SETUSER", "limiter", "on", ">secret-word", "~rl:*", "+@all", "-eval").Err(); err != nil {
		t.Fatal(err)
	}
	full := start("--maxmemory", "1")
	well := start()

	tmp := atRoot(t)
	for name, tt := range map[string]struct{ url, want string }{
		"a replica":       {replica.Addr(), "the primary"},
		"without EVALSHA": {old.Addr(), "Redis 6.2 or newer"},
		"not permitted":   {"redis://limiter:secret-word@" + guarded.Addr(), "allow the user"},
		"full":            {full.Addr(), "more memory"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := call(t, "run", "--port", "0", "--admin-port", "0", "--page-port", "0", "--redis", tt.url)
			if code != exitFindings || out != "" || !strings.Contains(err, "cannot decide") || !strings.Contains(err, tt.want) ||
				strings.Count(err, "\n") != 1 || strings.Contains(err, "secret-word") {
				t.Errorf("code %d, stdout %q, stderr %q", code, out, err)
			}
			empty(t, tmp)
		})
	}
	if err := tryDecision(t.Context(), well.Client(), "rl"); err != nil {
		t.Error(err)
	}
	if keys := well.Client().Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("left in Redis: %q", keys)
	}
}
