package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestTrapOfTheModule runs a VM over its own stack while requests wait in it for Redis: in a request's own callback, and in
// one that settles others. What clients see stands in docs/operations.md. Whatever it is, every request is answered, and the
// next ones are decided by a new VM over a new link.
func TestTrapOfTheModule(t *testing.T) {
	for _, place := range []string{"ask", "conclude"} {
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
	reloaded := c.stat(0, "wasm.routelimit_injected.vm_reload_success")
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
	// Each on a connection of its own, so that it may come to either worker.
	c.load.clients[0] = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: answerTime}
	began := time.Now()
	refused := map[string]int{}
	eventually(t, "both workers decide again", func() error {
		for range 16 {
			s := c.load.ask(t.Context(), 0, who, nil)
			if !s.decided {
				refused[fmt.Sprint(s.status, " ", s.body, " ", s.err)]++
				return fmt.Errorf("%v", s)
			}
		}
		return nil
	})
	t.Logf("both workers decide again %v after Redis answered, meanwhile %v; streams opened %d", time.Since(began).Round(time.Millisecond),
		refused, c.stat(0, "wasmcustom.routelimit_link_opened_total")-opened)
	wait.Wait()
	became := map[string]int{}
	decided := 0
	for _, s := range answers {
		became[fmt.Sprintf("%d %q, decided %v", s.status, s.body, s.decided)]++
		switch {
		case s.decided:
			decided++
		case s.err != nil || s.status != http.StatusServiceUnavailable || s.took() > idleTimeout+margin:
			t.Errorf("who waited: %v", s)
		}
	}
	t.Logf("who trapped: %v; those who waited: %v", trapped, became)
	if trapped.err != nil || trapped.status != http.StatusServiceUnavailable || trapped.took() > idleTimeout+margin {
		t.Errorf("who trapped: %v", trapped)
	}
	if decided == 0 || decided == waiting {
		t.Errorf("%d of %d who waited were decided, want those of one worker", decided, waiting)
	}
	if n := c.stat(0, "wasm.routelimit_injected.vm_reload_success") - reloaded; n != 1 {
		t.Errorf("%d VMs were loaded again, want the one that trapped", n)
	}
}
