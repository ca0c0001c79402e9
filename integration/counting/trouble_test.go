package counting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"routelimit/servers"
)

// TestG23ScriptsFlushed makes a primary forget its scripts again and again. Every request is decided all the same.
func TestG23ScriptsFlushed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		resent := s.calls(t, "cmdstat_eval")
		l := startLoad(t, s.patient(), subjects("flushed", 4))
		victim := s.primaries(t)[0]
		for range 12 {
			if err := victim.Client().ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			wait(t, 50*time.Millisecond)
		}
		l.goOn(t)
		got := checkCounts(t, s, l.end(t), nil)
		resent = s.calls(t, "cmdstat_eval") - resent
		t.Logf("%+v, %d sent again with the script", got, resent)
		if got.undecided != 0 || resent == 0 {
			t.Errorf("%d undecided, %d sent again with the script", got.undecided, resent)
		}
	})
}

// TestConnectionsKilled cuts all connections to Redis again and again. What was on its way is answered 503, and may have
// been counted; nothing is counted twice or not at all.
func TestConnectionsKilled(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l := startLoad(t, s.patient(), subjects("killed", 4))
		cut := int64(0)
		for range 12 {
			for _, server := range s.primaries(t) {
				n, err := server.Client().ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Result()
				if err != nil {
					t.Fatal(err)
				}
				cut += n
			}
			wait(t, 50*time.Millisecond)
		}
		l.goOn(t)
		got := checkCounts(t, s, l.end(t), nil)
		t.Logf("%+v, %d connections cut", got, cut)
		if cut == 0 {
			t.Error("no connection was cut")
		}
	})
}

// TestG27RedisPausedForAPatientLink lets a primary answer nothing for a while, which is less than the link waits: every
// request is decided late.
func TestG27RedisPausedForAPatientLink(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l := startLoad(t, s.patient(), subjects("patient", 4))
		pauseClients(t, s.primaries(t)[0])
		wait(t, pause)
		l.goOn(t)
		got := checkCounts(t, s, l.end(t), nil)
		t.Logf("%+v", got)
		if got.undecided != 0 {
			t.Errorf("%d undecided", got.undecided)
		}
	})
}

// TestG27RedisPausedForAHastyLink lets a primary answer nothing for longer than the link waits. Its requests are answered
// 503 and are counted when Redis comes back, or not; either way nobody gets more than his limit.
func TestG27RedisPausedForAHastyLink(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l := startLoad(t, s.hasty(), subjects("hasty", 4))
		pauseClients(t, s.primaries(t)[0])
		wait(t, pause)
		l.goOn(t)
		got := checkCounts(t, s, l.end(t), nil)
		t.Logf("%+v", got)
		if got.undecided == 0 {
			t.Error("nothing was undecided: Redis was not paused")
		}
	})
}

const pause = 1200 * time.Millisecond

func pauseClients(t *testing.T, server *servers.Redis) {
	t.Helper()
	if err := server.Client().Do(t.Context(), "CLIENT", "PAUSE", pause.Milliseconds()).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestG16NothingIsLeftOver runs after the others of this file: the keys of /short, which no longer change a verdict, are
// gone a few seconds later, on primaries and replicas.
func TestG16NothingIsLeftOver(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l := startLoad(t, s.patient(), subjects("left", 1))
		l.end(t)
		ended := time.Now()
		eventually(t, "the last key is gone", func() error {
			for _, server := range s.servers() {
				for _, key := range keys(t, server) {
					if strings.HasPrefix(key, "rl:{GET:/short/") {
						return fmt.Errorf("%s has %s", server.Addr(), key)
					}
				}
			}
			return nil
		})
		took := time.Since(ended)
		t.Logf("gone after %v", took)
		// A second for Redis to look at it, and one for the machine.
		if most := longest("rl:{GET:/short/fixed_window|") + 2*time.Second; took > most {
			t.Errorf("the last key was gone after %v, want at most %v", took, most)
		}
	})
}

// wait lets the load go on.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		t.Fatal("the test was ended")
	}
}
