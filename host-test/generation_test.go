package hosttest

import (
	"strings"
	"testing"
	"time"
)

// A collection inside proxy_on_memory_allocate is what kills a module on Envoy
// up to 1.38 once a timer was armed. The host must kill the module that dies
// there, and let the one live that the overlay protects.
func TestCollectionsInsideAllocateByGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		module     *Module
		generation Generation
		script     string
		dead       string // "": lives
	}{
		"plain, old, timer":       {plainGuest, Old, "timer 3600; collect 1", "does not allow wasi_snapshot_preview1.poll_oneoff"},
		"plain, old, no timer":    {plainGuest, Old, "collect 1", ""},
		"plain, current, timer":   {plainGuest, Current, "timer 3600; collect 1", ""},
		"overlay, old, timer":     {overlaidGuest, Old, "timer 3600; collect 1", ""},
		"overlay, current, timer": {overlaidGuest, Current, "timer 3600; collect 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			vm := startVM(t, c.module, Options{Generation: c.generation})
			p := plugin(t, vm, "configure: "+c.script+"\nrequest_headers: pairs 0; get 0 x-big; answer 0")
			for range 20 {
				p.Request(get("x-big", strings.Repeat("x", 1000)), nil).Respond(ok("hi"))
			}
			switch {
			case c.dead == "" && vm.Dead() != nil:
				t.Errorf("died: %v", vm.Dead())
			case c.dead != "" && (vm.Dead() == nil || !strings.Contains(vm.Dead().Error(), c.dead)):
				t.Errorf("dead: %v", vm.Dead())
			}
		})
	}
}

func TestPollOneoffByGeneration(t *testing.T) {
	for _, c := range []struct {
		module     *Module
		generation Generation
		dead       bool
	}{{plainGuest, Old, true}, {plainGuest, Current, false}, {overlaidGuest, Old, false}, {overlaidGuest, Current, false}} {
		vm := startVM(t, c.module, Options{Generation: c.generation})
		p := plugin(t, vm, "request_headers: timer 3600; gc")
		s := p.Request(get(), nil)
		if dead := vm.Dead() != nil; dead != c.dead || (s.Status() == "503") != c.dead {
			t.Errorf("%s, overlaid %v: dead %v", c.generation, c.module == overlaidGuest, vm.Dead())
		}
		if asked := vm.Calls("poll_oneoff") > 0; asked != (c.module == plainGuest) {
			t.Errorf("%s, overlaid %v: poll_oneoff asked %v", c.generation, c.module == overlaidGuest, asked)
		}
	}
}

func TestHeapGrowsAndShrinks(t *testing.T) {
	for _, g := range []Generation{Old, Current} {
		t.Run(g.String(), func(t *testing.T) {
			vm := startVM(t, overlaidGuest, Options{Generation: g})
			before := vm.MemorySize()
			p := plugin(t, vm, "configure: timer 3600; collect 1; ticks 10\ntick: grow 64; pairs 0; shrink\nrequest_headers: pairs 0")
			for range 5 {
				vm.Advance(10 * time.Millisecond)
				p.Request(get(), nil).Respond(ok("hi"))
			}
			noFaults(t, vm)
			if grown := vm.MemorySize() - before; grown < 64<<20 || grown > 256<<20 {
				t.Errorf("the memory grew by %d bytes", grown)
			}
		})
	}
}
