package bridge

import (
	"sync"
	"time"
)

// linePeriod is how often one kind of trouble is logged at most.
const linePeriod = 10 * time.Second

// lines remembers when each kind of trouble was logged: an attack or an outage must not fill a disk.
type lines struct {
	mutex   sync.Mutex
	next    map[string]time.Time
	leftOut map[string]int
}

// admit says whether a line may be written, and how many of its kind were not since the last.
func (l *lines) admit(kind string, now time.Time) (leftOut int, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.next == nil {
		l.next, l.leftOut = map[string]time.Time{}, map[string]int{}
	}
	if now.Before(l.next[kind]) {
		l.leftOut[kind]++
		return 0, false
	}
	l.next[kind] = now.Add(linePeriod)
	leftOut = l.leftOut[kind]
	l.leftOut[kind] = 0
	return leftOut, true
}

// warn logs a kind of trouble, if it may be logged now.
func (b *Bridge) warn(kind, text string) {
	leftOut, ok := b.lines.admit(kind, time.Now())
	switch {
	case !ok:
	case leftOut > 0:
		b.log.Warn(text, "left_out", leftOut)
	default:
		b.log.Warn(text)
	}
}
