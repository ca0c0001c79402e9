package access

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"routelimit/bridge"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// startSentinel watches a primary, alone, and ends with the test.
func startSentinel(t *testing.T, binary string, primary *servers.Redis) (addr string) {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	host, primaryPort, _ := net.SplitHostPort(primary.Addr())
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 500\n"+
		"sentinel failover-timeout main 3000\n", port, host, primaryPort)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, file, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return servers.Loopback(port)
}

// TestABridgeFollowsWhatSentinelsSay kills the primary: its replica takes over, and the bridge asks that one.
func TestABridgeFollowsWhatSentinelsSay(t *testing.T) {
	binary := servertest.Redis(t, "8.2.3")
	primary := servertest.StartRedis(t, servers.RedisOptions{Binary: binary})
	host, port, _ := net.SplitHostPort(primary.Addr())
	replica := servertest.StartRedis(t, servers.RedisOptions{Binary: binary, Args: []string{"--replicaof", host + " " + port, "--repl-diskless-sync-delay", "0"}})
	for _, r := range []*servers.Redis{primary, replica} {
		admit(t, r.Client(), line(t, "bridge"))
	}
	sentinel := startSentinel(t, binary, primary)
	c := startBridge(t, bridge.Store{Addrs: []string{sentinel}, Primary: "main"})
	works := func(r *servers.Redis) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel() // and so the stream ends
		stream, err := c.Open(ctx)
		if err != nil {
			return err
		}
		return everything(ctx, r.Client(), stream.Ask)
	}
	until(t, "the primary is asked", func() error { return works(primary) })
	until(t, "the replica follows", func() error {
		if n, err := replica.Client().Exists(t.Context(), "rl:{GET:/access|all}").Result(); err != nil || n != 1 {
			return fmt.Errorf("%d, %v", n, err)
		}
		return nil
	})
	primary.Kill()
	began := time.Now()
	until(t, "the replica has taken over", func() error { return works(replica) })
	t.Logf("decided again %v after the primary's death", time.Since(began))
}

func until(t *testing.T, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
