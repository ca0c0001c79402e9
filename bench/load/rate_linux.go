package load

import "time"

// deal gives each connection what is due for it, and lets those that are free send.
func (r *runner) deal() error {
	now := r.now()
	for !r.over() && r.next <= now {
		c := r.conns[r.moments.IntN(len(r.conns))]
		c.queue = append(c.queue, r.next)
		if !c.busy() {
			r.result.Late = append(r.result.Late, now-r.next)
			if err := r.flush(c, now); err != nil {
				return err
			}
		}
		r.next += r.gap()
	}
	return nil
}

// flush sends what waits for a connection.
func (r *runner) flush(c *conn, now time.Duration) error {
	n := min(len(c.queue), most)
	err := r.send(c, now, c.queue[:n]...)
	c.queue = c.queue[:copy(c.queue, c.queue[n:])]
	return err
}

// giveUp notes the requests that found no connection for too long after the end.
func (r *runner) giveUp(now time.Duration) {
	if r.plan.Rate == 0 || now < r.plan.Length+patience {
		return
	}
	waits := func(due time.Duration) {
		r.result.Waiting = append(r.result.Waiting, Answer{At: due, Took: now - due})
	}
	for ; !r.over(); r.next += r.gap() {
		waits(r.next)
	}
	for _, c := range r.conns {
		for _, due := range c.queue {
			waits(due)
		}
		c.queue = nil
	}
}

// gap is the time to the next request at a fixed rate.
func (r *runner) gap() time.Duration {
	return time.Duration(r.moments.ExpFloat64() / r.plan.Rate * float64(time.Second))
}
