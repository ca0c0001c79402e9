package hosttest

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAdvanceFiresTicksInTheirOrder(t *testing.T) {
	clock := NewClock()
	start := clock.Now()
	vm := startVM(t, overlaidGuest, Options{Clock: clock})
	plugin(t, vm, "configure: ticks 3\ntick: now") // root 1
	plugin(t, vm, "configure: ticks 2\ntick: now") // root 2
	vm.Advance(6 * time.Millisecond)

	ns := strconv.FormatInt
	at := func(ms int64) string { return "now = 0 " + ns(start.UnixNano()+ms*1e6, 10) }
	want := []string{"tick [2]", at(2), "tick [1]", at(3), "tick [2]", at(4), "tick [1]", at(6), "tick [2]", at(6)}
	var got []string
	for _, line := range said(vm, "") {
		if line != `vm_start ""` && line[:5] != "ticks" {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTickPeriodChangesAndStops(t *testing.T) {
	p := start(t, Options{}, "configure: ticks 10\ntick: ticks 0\nrequest_headers: ticks 5")
	if p.TickPeriod() != 10*time.Millisecond {
		t.Errorf("period %s", p.TickPeriod())
	}
	p.VM().Advance(time.Second)
	if got := len(said(p.VM(), "tick [")); got != 1 || p.TickPeriod() != 0 {
		t.Errorf("%d ticks, period %s", got, p.TickPeriod())
	}
	p.Request(get(), nil) // the tick is the root's, whoever sets it
	p.VM().Advance(4 * time.Millisecond)
	if got := len(said(p.VM(), "tick [")); got != 1 {
		t.Errorf("ticked %d times, too early", got)
	}
	p.VM().Advance(time.Millisecond)
	if got := len(said(p.VM(), "tick [")); got != 2 {
		t.Errorf("ticked %d times", got)
	}
}

func TestStepMovesTheRealTimeOnly(t *testing.T) {
	clock := NewClock()
	before := clock.Now()
	vm := startVM(t, overlaidGuest, Options{Clock: clock})
	plugin(t, vm, "configure: ticks 10\ntick: now")
	clock.Step(-time.Hour)
	if len(said(vm, "tick [")) != 0 {
		t.Error("a step fired a tick")
	}
	vm.Advance(10 * time.Millisecond)
	want := []string{"= 0 " + strconv.FormatInt(before.Add(-time.Hour+10*time.Millisecond).UnixNano(), 10)}
	if diff := cmp.Diff(want, said(vm, "now ")); diff != "" {
		t.Error(diff)
	}
}

func TestVMsShareTheirProcessClock(t *testing.T) {
	h := NewHost(overlaidGuest, Options{})
	var vms []*VM
	for range 2 {
		vm, err := h.NewVM(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { vm.Close() })
		plugin(t, vm, "configure: ticks 10")
		vms = append(vms, vm)
	}
	vms[0].Advance(10 * time.Millisecond)
	for i, vm := range vms {
		if got := len(said(vm, "tick [")); got != 1 {
			t.Errorf("VM %d ticked %d times", i, got)
		}
	}
}

// A host that serves real requests is late now and then: a tick is then called once, not for every period that has passed.
func TestFollowFiresALateTickOnce(t *testing.T) {
	clock := NewClock()
	start := clock.Now()
	vm := startVM(t, overlaidGuest, Options{Clock: clock})
	plugin(t, vm, "configure: ticks 10\ntick: now")
	if d, ok := clock.UntilTick(); !ok || d != 10*time.Millisecond {
		t.Errorf("%s, %v until the first tick", d, ok)
	}
	ticks := func() int { return len(said(vm, "tick [")) }
	for _, step := range []struct {
		at    time.Duration
		ticks int
		until time.Duration
	}{
		{9 * time.Millisecond, 0, time.Millisecond},
		{10 * time.Millisecond, 1, 10 * time.Millisecond},
		{time.Hour, 2, 10 * time.Millisecond},
		{time.Hour - time.Second, 2, 10 * time.Millisecond}, // the machine's clock was set back
		{time.Hour - time.Second + 10*time.Millisecond, 3, 10 * time.Millisecond},
	} {
		clock.Follow(start.Add(step.at))
		if d, _ := clock.UntilTick(); ticks() != step.ticks || d != step.until || !clock.Now().Equal(start.Add(step.at)) {
			t.Errorf("at %s: %d ticks, %s until the next one, clock at %s", step.at, ticks(), d, clock.Now().Sub(start))
		}
	}
	if _, ok := NewClock().UntilTick(); ok {
		t.Error("a clock without ticks has one")
	}
}
