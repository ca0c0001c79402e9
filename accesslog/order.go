package accesslog

import (
	"cmp"
	"slices"
)

// A proxy writes a line when a request ends, with the time at which it began.
const (
	slackSeconds = 60        // how long a request may take and still be put into its place
	maxHeld      = 100_000   // entries that wait for their turn
	maxHeldBytes = 128 << 20 // and the length of their lines
	jumpMS       = 3_600_000 // a step forward that the next line has to confirm
)

// order puts the entries of one log into the order of time, as far as slack and
// memory allow. What comes later than that is emitted at once, at the time that
// has been reached.
type order struct {
	emit func(*Entry)

	held      [slackSeconds + 1][]waiting // by second, as a ring
	base      int64                       // the earliest second that is held
	newest    int64                       // the latest
	began     bool
	count     int
	bytes     int
	last      int64 // the time of the last emitted, in ms
	suspect   waiting
	suspected bool

	late     int64 // entries that came too late
	mostLate int64 // by how much the latest of them, in ms
	outliers int64 // entries left out, whose time the next line belied
	outlier  func(w waiting)
}

// waiting is an entry that waits, and where it stood.
type waiting struct {
	entry  *Entry
	line   int64
	length int
}

// add takes the next entry. One that is far ahead of those before it waits for the
// next line: a single wrong date must not carry all lines after it along.
func (o *order) add(w waiting) {
	if o.suspected {
		o.suspected = false
		if w.entry.TimeMS < o.suspect.entry.TimeMS-jumpMS {
			o.outliers++
			o.outlier(o.suspect)
		} else {
			o.accept(o.suspect)
		}
	}
	if !o.began || w.entry.TimeMS/1000 > o.newest+jumpMS/1000 {
		o.suspect, o.suspected = w, true
		return
	}
	o.accept(w)
}

// finish emits all that is held.
func (o *order) finish() {
	if o.suspected {
		o.suspected = false
		o.accept(o.suspect)
	}
	for o.count > 0 {
		o.advance()
	}
}

func (o *order) accept(w waiting) {
	second := w.entry.TimeMS / 1000
	switch {
	case !o.began:
		o.began, o.base, o.newest = true, second, second
	case second > o.newest:
		for o.count > 0 && o.base < second-slackSeconds {
			o.advance()
		}
		o.base = max(o.base, second-slackSeconds)
		o.newest = second
	}
	second = max(second, o.base) // too late: its turn is now
	bucket := &o.held[second%int64(len(o.held))]
	*bucket = append(*bucket, w)
	o.count++
	o.bytes += w.length
	for o.count > maxHeld || o.bytes > maxHeldBytes {
		o.advance()
	}
}

// advance emits the earliest second that is held.
func (o *order) advance() {
	bucket := &o.held[o.base%int64(len(o.held))]
	byTime := func(a, b waiting) int { return compare(a.entry, b.entry) }
	if !slices.IsSortedFunc(*bucket, byTime) {
		slices.SortFunc(*bucket, byTime)
	}
	for i, w := range *bucket {
		if e := w.entry; e.TimeMS < o.last {
			o.late++
			o.mostLate = max(o.mostLate, o.last-e.TimeMS)
			e.TimeMS = o.last
		}
		o.last = w.entry.TimeMS
		o.count--
		o.bytes -= w.length
		o.emit(w.entry)
		(*bucket)[i] = waiting{}
	}
	*bucket = (*bucket)[:0]
	if o.base < o.newest {
		o.base++
	}
}

// compare orders entries by time, and those of one time as they stand in the log.
func compare(a, b *Entry) int {
	if a.TimeMS != b.TimeMS {
		return cmp.Compare(a.TimeMS, b.TimeMS)
	}
	return a.order - b.order
}
