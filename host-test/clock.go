package hosttest

import (
	"slices"
	"time"
)

// Clock is the time that VMs see, real time and monotonic alike. It stands
// still until Advance moves it.
type Clock struct {
	real    time.Time     // the real time at the last Advance or Step
	elapsed time.Duration // monotonic time since the clock was made
	ticks   []*tick       // running, in the order in which they were set
}

// monotonicStart is what the monotonic clock shows at first: an uptime that
// nobody takes for a date.
const monotonicStart = 1000 * time.Second

// NewClock returns a clock that stands at 2024-10-24 12:00:00 UTC, a time at
// which windows of a minute, an hour and half a day begin.
func NewClock() *Clock {
	return NewClockAt(time.Date(2024, 10, 24, 12, 0, 0, 0, time.UTC))
}

// NewClockAt returns a clock that stands at t.
func NewClockAt(t time.Time) *Clock { return &Clock{real: t} }

// Now returns the real time that the plugin sees.
func (c *Clock) Now() time.Time { return c.real }

// Advance lets d go by. Each root's on_tick is called at every multiple of its
// period on the way, with the clock at that moment.
func (c *Clock) Advance(d time.Duration) {
	end := c.elapsed + d
	for {
		t := c.next()
		if t == nil || t.due > end {
			break
		}
		c.move(t.due)
		t.due += t.period // Envoy arms the timer again after the callback, at the same moment
		t.fire()
	}
	c.move(end)
}

// Follow moves the clock to a moment of a running clock, for a host that serves real requests. A tick that is due is
// called once, however late it is, as Envoy's timer does.
func (c *Clock) Follow(now time.Time) {
	c.elapsed += max(0, now.Sub(c.real))
	c.real = now
	for t := c.next(); t != nil && t.due <= c.elapsed; t = c.next() {
		t.due = c.elapsed + t.period
		t.fire()
	}
}

// UntilTick returns how long it is to the next tick, false if none runs.
func (c *Clock) UntilTick() (time.Duration, bool) {
	t := c.next()
	if t == nil {
		return 0, false
	}
	return max(0, t.due-c.elapsed), true
}

// Step changes the real time by d, as setting a machine's clock does: the
// monotonic clock and the ticks do not notice. d may be negative.
func (c *Clock) Step(d time.Duration) { c.real = c.real.Add(d) }

func (c *Clock) move(to time.Duration) {
	c.real = c.real.Add(to - c.elapsed)
	c.elapsed = to
}

// next returns the tick that is due first; of two, the one that was set first.
func (c *Clock) next() *tick {
	if len(c.ticks) == 0 {
		return nil
	}
	return slices.MinFunc(c.ticks, func(a, b *tick) int { return int(a.due - b.due) })
}

// tick is the timer of one root.
type tick struct {
	clock  *Clock
	fire   func()
	period time.Duration // 0: not running
	due    time.Duration
}

// set runs the timer from now on with a new period, 0 for not at all.
func (t *tick) set(period time.Duration) {
	t.stop()
	if period > 0 {
		t.period, t.due = period, t.clock.elapsed+period
		t.clock.ticks = append(t.clock.ticks, t)
	}
}

func (t *tick) stop() {
	t.period = 0
	t.clock.ticks = slices.DeleteFunc(t.clock.ticks, func(other *tick) bool { return other == t })
}

// hostcalls

func (in *instance) getCurrentTime(args []uint64) uint32 {
	if !in.writeUint64(args[0], uint64(in.vm.host.Clock().real.UnixNano())) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

func (in *instance) setTickPeriod(args []uint64) uint32 {
	r := in.context().root
	if r == nil {
		return resultBadArgument
	}
	r.tick.set(time.Duration(uint32(args[0])) * time.Millisecond)
	return resultOK
}
