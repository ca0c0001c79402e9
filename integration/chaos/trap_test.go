package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestTrapOfTheModule runs a VM over its own stack while requests wait in it for Redis, at each place: what clients see
// stands in docs/operations.md. Whatever it is, every request is answered, and the next ones are decided by a new VM over
// a new link.
func TestTrapOfTheModule(t *testing.T) {
	for _, place := range []string{"headers", "ask", "conclude"} {
		t.Run(place, func(t *testing.T) { trapAt(t, place) })
	}
}

func trapAt(t *testing.T, place string) {
	c := &chaos{t: t, began: time.Now()}
	c.load = &load{}
	c.load.connect(t)
	who := subject{listener: injected, path: "/calm", caller: "trap"}
	eventually(t, "the module works", func() error {
		if s := c.load.ask(t.Context(), 0, who, nil); !s.decided {
			return fmt.Errorf("%v", s)
		}
		return nil
	})
	created := c.stat(0, "wasm.envoy.wasm.runtime.v8.created")
	opened := c.stat(0, "wasmcustom.routelimit_link_opened_total")

	// Requests of both workers wait.
	if err := rig.single.Pause(); err != nil {
		t.Fatal(err)
	}
	defer rig.single.Resume()
	const waiting = 40
	var wait sync.WaitGroup
	answers := make([]*sample, waiting)
	for i := range answers {
		wait.Go(func() { answers[i] = c.load.ask(context.Background(), 0, who, nil) })
	}
	eventually(t, "all wait", func() error {
		if n := c.stat(0, "http.injected.downstream_rq_active"); n != waiting {
			return fmt.Errorf("%d wait", n)
		}
		return nil
	})
	var trapped *sample
	wait.Go(func() {
		trapped = c.load.ask(context.Background(), 0, who, map[string]string{"x-inject": "trap at " + place})
	})
	if place == "conclude" {
		eventually(t, "the request that traps waits", func() error {
			if n := c.stat(0, "http.injected.downstream_rq_active"); n != waiting+1 {
				return fmt.Errorf("%d wait", n)
			}
			return nil
		})
	} else {
		c.wait(100 * time.Millisecond)
	}
	if err := rig.single.Resume(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var back *sample
	eventually(t, "both workers decide again", func() error {
		for range 8 {
			if back = c.load.ask(t.Context(), 0, who, nil); !back.decided {
				return fmt.Errorf("%v", back)
			}
		}
		return nil
	})
	t.Logf("decided again %v after Redis answered; VMs made %d, streams opened %d", time.Since(began),
		c.stat(0, "wasm.envoy.wasm.runtime.v8.created")-created, c.stat(0, "wasmcustom.routelimit_link_opened_total")-opened)
	wait.Wait()
	became := map[string]int{}
	for _, s := range answers {
		became[fmt.Sprint(s.status, " ", s.body, " decided ", s.decided)]++
		if s.err != nil || s.took() > idleTimeout+10*time.Second {
			t.Errorf("who waited: %v", s)
		}
	}
	t.Logf("who trapped: %v", trapped)
	t.Logf("those who waited: %v", became)
	if trapped.status == http.StatusOK {
		t.Errorf("the request that trapped passed: %v", trapped)
	}
}
