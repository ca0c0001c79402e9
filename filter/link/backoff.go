package link

import (
	"math/rand/v2"
	"time"
)

// draw returns a duration from 0 to below its argument by chance. Tests that
// must run alike each time set it.
var draw = rand.N[time.Duration]

// backoff says how long not to try again. The zero value allows it.
type backoff struct {
	until time.Duration // on the host's clock
	delay time.Duration // of the last failure; 0 after a success
}

// failed doubles the delay, up to most. Half of it is drawn by chance, so that the workers
// of a fleet do not come back to a Redis at the same moment.
func (b *backoff) failed(now, most time.Duration) {
	b.delay = min(max(2*b.delay, minBackoff), most)
	b.until = now + b.delay/2 + draw(b.delay/2+1)
}

func (b *backoff) succeeded() { *b = backoff{} }
