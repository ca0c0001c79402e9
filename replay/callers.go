package replay

import "routelimit/limit"

// caller is one key.
type caller struct {
	key    string
	counts limit.Hash // what Redis would hold
	uses   limit.Hash // the same, had nothing been refused
}

// callers are the keys that can still change a verdict, as in Redis, and not many more.
type callers struct {
	known map[string]*caller
	// A sweep comes when as many keys were asked for as the last one left, and
	// sweepEach at least.
	asked, kept, sweepEach int
}

// leastSweep keeps few callers from being swept all the time.
const leastSweep = 1 << 14

func newCallers() callers { return callers{known: map[string]*caller{}, sweepEach: leastSweep} }

// of finds a key's caller.
func (c *callers) of(key []byte) *caller {
	c.asked++
	found := c.known[string(key)]
	if found == nil {
		found = &caller{key: string(key)}
		c.known[found.key] = found
	}
	return found
}

// tidy sweeps, if it is time. It must not come between two keys of one request: a new
// caller is as good as a spent one.
func (c *callers) tidy(nowMS int64) {
	if c.asked >= max(c.kept, c.sweepEach) {
		c.sweep(nowMS)
	}
}

// sweep forgets what has expired.
func (c *callers) sweep(nowMS int64) {
	for key, one := range c.known {
		if one.counts.Spent(nowMS) && one.uses.Spent(nowMS) {
			delete(c.known, key)
		}
	}
	c.asked, c.kept = 0, len(c.known)
}
