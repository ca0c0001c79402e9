package servers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// alive says whether a process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestRedisAnswersAndLeavesNothing(t *testing.T) {
	for _, version := range servers.RedisVersions() {
		for _, socket := range []bool{false, true} {
			t.Run(version+"/socket="+strconv.FormatBool(socket), func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir())
				r, err := servers.StartRedis(t.Context(), servers.RedisOptions{Binary: servertest.Redis(t, version), Socket: socket})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Client().Set(t.Context(), "k", "v", 0).Err(); err != nil {
					t.Error(err)
				}
				pid := r.PID()
				r.Stop()
				if alive(pid) {
					t.Errorf("pid %d lives after Stop", pid)
				}
				if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

func TestRedisPassesArguments(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{Args: []string{"--maxmemory-policy", "allkeys-lru"}})
	got, err := r.Client().ConfigGet(t.Context(), "maxmemory-policy").Result()
	if err != nil || got["maxmemory-policy"] != "allkeys-lru" {
		t.Errorf("maxmemory-policy = %v, %v", got, err)
	}
}

func TestRedisOnTakenPortNamesIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	t.Setenv("TMPDIR", t.TempDir())
	_, err = servers.StartRedis(t.Context(), servers.RedisOptions{Binary: servertest.Redis(t, ""), Port: port})
	var taken *servers.PortInUseError
	if !errors.As(err, &taken) || taken.Port != port {
		t.Errorf("error = %v, want port %d in use", err, port)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRedisThatRefusesToStartShowsWhyAndItsLog(t *testing.T) {
	_, err := servers.StartRedis(t.Context(), servers.RedisOptions{
		Binary: servertest.Redis(t, ""), Args: []string{"--maxmemory-policy", "nonsense"}, Dir: t.TempDir(),
	})
	if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "redis.log") {
		t.Errorf("error = %v", err)
	}
}

func TestRedisMissingBinarySaysWhatToDo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := servers.StartRedis(t.Context(), servers.RedisOptions{Binary: "/no/such/redis-server"})
	if err == nil || !strings.Contains(err.Error(), "/no/such/redis-server") {
		t.Errorf("error = %v", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRedisKilledIsNoticedAndRestartsEmptyAtItsAddress(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{})
	ctx, addr := t.Context(), r.Addr()
	if err := r.Client().Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if err := r.Client().Ping(ctx).Err(); err == nil {
		t.Error("a killed server answers")
	}
	if err := r.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Client().Exists(ctx, "k").Result(); n != 0 || err != nil || r.Addr() != addr {
		t.Errorf("after the restart: %d keys, %v, at %s, was %s", n, err, r.Addr(), addr)
	}
}

func TestRedisPausedAnswersOnceResumed(t *testing.T) {
	r := servertest.StartRedis(t, servers.RedisOptions{})
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error)
	go func() { answer <- r.Client().Ping(context.Background()).Err() }()
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestRedisPausedEndsWithStop(t *testing.T) {
	r, err := servers.StartRedis(t.Context(), servers.RedisOptions{Binary: servertest.Redis(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	pid := r.PID()
	r.Stop()
	if alive(pid) {
		t.Errorf("pid %d lives after Stop", pid)
	}
}

// TestRedisWithTLSAndAPassword looks in on both ports, with a password and without.
func TestRedisWithTLSAndAPassword(t *testing.T) {
	files := servertest.Certificates(t, "redis.example")
	r := servertest.StartRedis(t, servers.RedisOptions{Binary: servertest.TLSRedis(t), Password: "p", TLS: files.Redis()})
	if err := r.Client().Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	o := servers.ClientOptions("tcp", r.TLSAddr())
	o.TLSConfig = &tls.Config{RootCAs: files.Pool(), ServerName: "redis.example"}
	c := redis.NewClient(o)
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without a password: %v", err)
	}
}
