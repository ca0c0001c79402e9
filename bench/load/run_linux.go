package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"
)

// Run makes the load and returns when all of it is answered. A request that fails in any way ends it with an error.
func Run(ctx context.Context, p Plan) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	// One thread: epoll, the processor time and the precision of timers are its own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer preciseTimers()()
	r, err := newRunner(p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	before := threadTime()
	r.begin = time.Now()
	for !r.done() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := r.turn(); err != nil {
			return nil, err
		}
	}
	r.result.CPU = threadTime() - before
	return &r.result, nil
}

// runner is one load on its way. Times are since begin.
type runner struct {
	plan    Plan
	poll    int // epoll's file descriptor
	conns   []*conn
	free    []*conn // oldest first
	busy    int
	begin   time.Time
	next    time.Duration // when the next request is due; in a closed loop always at once
	moments *rand.Rand
	looked  time.Duration // when it was last looked for overdue requests
	events  [128]syscall.EpollEvent
	result  Result
}

func newRunner(p Plan) (*runner, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("no epoll: %w; run on Linux", err)
	}
	r := &runner{plan: p, poll: poll, moments: rand.New(rand.NewPCG(p.Seed, 1))}
	r.result.Answers = make([]Answer, 0, 1<<16) // not to be grown while it is measured
	for i := range p.Connections {
		c := &conn{addr: p.Addrs[i%len(p.Addrs)], index: i}
		r.conns = append(r.conns, c)
		if err := c.open(poll); err != nil {
			r.close()
			return nil, err
		}
		r.free = append(r.free, c)
	}
	return r, nil
}

func (r *runner) close() {
	for _, c := range r.conns {
		c.close()
	}
	syscall.Close(r.poll)
}

func (r *runner) now() time.Duration { return time.Since(r.begin) }

// over says that no further request is due.
func (r *runner) over() bool { return r.next >= r.plan.Length }

func (r *runner) done() bool { return r.over() && r.busy == 0 }

// turn sends what is due and takes what has come, waiting for either.
func (r *runner) turn() error {
	if err := r.sendDue(); err != nil {
		return err
	}
	now := r.now()
	r.giveUp(now)
	wait := 100 * time.Millisecond
	if (r.plan.Gather || len(r.free) > 0) && !r.over() {
		wait = min(wait, max(0, r.next-now))
	}
	n, err := epollWait(r.poll, r.events[:], wait)
	if err != nil {
		return err
	}
	for _, e := range r.events[:n] {
		if err := r.take(r.conns[e.Fd], r.now()); err != nil {
			return err
		}
		// At once, so that answers that came together do not become requests that come together.
		if err := r.sendDue(); err != nil {
			return err
		}
	}
	return r.overdue()
}

// sendDue sends what is due, as far as connections are free.
func (r *runner) sendDue() error {
	if r.plan.Gather {
		return r.deal()
	}
	for len(r.free) > 0 && !r.over() {
		now := r.now()
		if r.next > now {
			break
		}
		c := r.free[0]
		r.free = r.free[1:]
		due := now
		if r.plan.Rate > 0 {
			due = r.next
			r.result.Late = append(r.result.Late, now-max(due, c.since))
			r.next += r.gap()
		}
		if err := r.send(c, now, due); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) send(c *conn, now time.Duration, due ...time.Duration) error {
	r.busy++
	r.result.Messages++
	return r.again(c, c.send(r.plan.Speak, now, due...))
}

// again sends once more what was cut off, if that is wanted. Any other error stays.
func (r *runner) again(c *conn, err error) error {
	if !r.plan.Resend || !errors.Is(err, errClosed) || len(c.in) > 0 {
		return err
	}
	r.result.Resent++
	if err := r.reopen(c); err != nil {
		return err
	}
	return c.write()
}

// take reads what has come on a connection.
func (r *runner) take(c *conn, now time.Duration) error {
	whole, last, err := c.receive(r.plan.Speak)
	if err != nil {
		if errors.Is(err, errClosed) && !c.busy() {
			return r.reopen(c)
		}
		return r.again(c, err)
	}
	if !whole {
		return nil
	}
	for _, due := range c.sent {
		r.result.Answers = append(r.result.Answers, Answer{At: due, Took: now - due})
	}
	r.result.Length = now
	c.sent, c.since = c.sent[:0], now
	r.busy--
	if r.plan.Rate == 0 {
		r.next = now
	}
	if last {
		if err := r.reopen(c); err != nil {
			return err
		}
	}
	if len(c.queue) > 0 {
		return r.flush(c, now)
	}
	r.free = append(r.free, c)
	return nil
}

func (r *runner) reopen(c *conn) error {
	r.result.Reopens++
	c.close()
	return c.open(r.poll)
}

// overdue fails for a request that was not answered in time. It looks now and then.
func (r *runner) overdue() error {
	now := r.now()
	if now < r.looked+patience/50 {
		return nil
	}
	r.looked = now
	for _, c := range r.conns {
		if c.busy() && now-c.since > patience {
			return fmt.Errorf("a request to %s got no answer in %v; look into the limiter", c.addr, patience)
		}
	}
	return nil
}
