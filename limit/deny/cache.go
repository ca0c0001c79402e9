// Package deny remembers who was refused, so that the next question is not asked,
// or is asked with more care.
//
// A refusal of a key whose charges are never given back stands until the moment
// that Redis gave: until then Recall repeats it, number by number. Where charges
// may be given back it only makes the key suspect: whoever asks about several
// keys asks about the most suspect one first and alone, so that a caller who is
// over his own limit cannot charge the others' keys again and again, even for a
// moment.
package deny

import (
	"math"
	"time"

	"routelimit/limit"
	"routelimit/limit/recent"
)

// Cache is the memory of one worker under one configuration. Times are of a clock
// that only goes forward. The zero value, and nil, remember nothing.
type Cache struct {
	table *recent.Table[entry]
	most  time.Duration
	last  time.Duration // when nothing of what is remembered holds any more
	given time.Duration // when something was given back last
}

// entry is what is known of one key. A new refusal uses its memory again.
type entry struct {
	asked    time.Duration // when the question was sent that was refused
	holds    time.Duration // until when the refusal stands
	charges  []limit.Charge
	decision limit.Decision

	suspect time.Duration // until when the key is
	waits   time.Duration // until when Redis made it wait; endless: for ever
	score   uint8         // how much: refusals add to it, each pass halves it
}

const endless = time.Duration(math.MaxInt64)

// suspectFor is how much longer than Redis made it wait a key stays suspect.
const suspectFor = 30 * time.Second

// New returns a cache of so many keys, which repeats no refusal for longer than
// most.
func New(keys int, most time.Duration) *Cache {
	return &Cache{table: recent.New[entry](keys), most: most}
}

// InUse says whether anything was remembered that may still hold: where it does
// not, there is nothing to look up.
func (c *Cache) InUse() bool { return c != nil && c.last > 0 }

// find returns what is known of a key and may still hold.
func (c *Cache) find(key []byte, now time.Duration) *entry {
	if !c.InUse() {
		return nil
	}
	if now >= c.last {
		c.last = 0
		return nil
	}
	return c.table.Find(key)
}

// Keep remembers that Redis refused a question sent at a time, for as long as the
// refusal lasts. What was refused before something was given back may pass now.
func (c *Cache) Keep(key []byte, charges []limit.Charge, d *limit.Decision, asked time.Duration) {
	c.KeepFor(c.longest(), key, charges, d, asked)
}

// KeepFor is Keep for a refusal that is repeated for no longer than most.
func (c *Cache) KeepFor(most time.Duration, key []byte, charges []limit.Charge, d *limit.Decision, asked time.Duration) {
	// Redis counts whole ms: it may have read its clock almost one before the
	// question was sent on ours.
	lasts := min(d.Lasts(charges)-time.Millisecond, c.longest(), most)
	if lasts <= 0 || asked <= c.given {
		return
	}
	e := c.put(key)
	e.asked, e.holds = asked, asked+lasts
	e.charges = append(e.charges[:0], charges...)
	verdicts := append(e.decision.Verdicts[:0], d.Verdicts...)
	e.decision = *d
	e.decision.Verdicts = verdicts
	c.last = max(c.last, e.holds)
}

func (c *Cache) longest() time.Duration {
	if c == nil {
		return 0
	}
	return c.most
}

// Recall sets into to the refusal that Redis would give now, or says that none is
// known: of this key, for exactly these charges.
func (c *Cache) Recall(key []byte, charges []limit.Charge, now time.Duration, into *limit.Decision) bool {
	e := c.find(key, now)
	if e == nil || now >= e.holds || !same(e.charges, charges) {
		return false
	}
	e.decision.Later(now-e.asked, charges, into)
	return true
}

func same(a, b []limit.Charge) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Limit != b[i].Limit || a[i].Cost != b[i].Cost {
			return false
		}
	}
	return true
}

// Suspect remembers that a key was refused that was asked about with others. wait
// is what Redis made it wait, limit.Never included.
func (c *Cache) Suspect(key []byte, wait, asked time.Duration) {
	if c == nil {
		return
	}
	e := c.put(key)
	if e.suspect < asked {
		e.score = 0
	}
	e.score += min(1, 255-e.score)
	e.suspect = asked + max(wait, 0) + suspectFor
	e.waits = asked + wait
	if wait == limit.Never {
		e.waits = endless
	}
	c.last = max(c.last, e.suspect)
}

// Score is how suspect a key is; 0: not at all.
func (c *Cache) Score(key []byte, now time.Duration) int {
	e := c.find(key, now)
	if e == nil || now >= e.suspect {
		return 0
	}
	return int(e.score)
}

// Waits is how long a suspect key still had to wait when it was last asked about;
// limit.Never included, 0 if it is not known to have to.
func (c *Cache) Waits(key []byte, now time.Duration) time.Duration {
	e := c.find(key, now)
	switch {
	case e == nil || now >= e.suspect || now >= e.waits:
		return 0
	case e.waits == endless:
		return limit.Never
	}
	return e.waits - now
}

// Passed says that a key passed. Somebody whose keys pass now and then, because
// others hold them at their limit, becomes less suspect than they are.
func (c *Cache) Passed(key []byte, now time.Duration) {
	if e := c.find(key, now); e != nil {
		e.score /= 2
		e.waits = 0
	}
}

// GivenBack says that something is given back under a key whose refusals are kept.
func (c *Cache) GivenBack(key []byte, now time.Duration) {
	c.given = now
	c.Forget(key, now)
}

// Forget ends the refusal that is kept of a key.
func (c *Cache) Forget(key []byte, now time.Duration) {
	if e := c.find(key, now); e != nil {
		e.holds = 0
	}
}

// put returns the entry of a key; a new one knows nothing.
func (c *Cache) put(key []byte) *entry {
	e, known := c.table.Put(key)
	if !known {
		*e = entry{charges: e.charges[:0], decision: limit.Decision{Verdicts: e.decision.Verdicts[:0]}}
	}
	return e
}
