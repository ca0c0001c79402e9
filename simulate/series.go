package simulate

// cell is one step of a route's timeline.
type cell struct{ requests, refused int64 }

// steps are the lengths of a step in seconds; each divides the next.
var steps = []int64{1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400, 3640 * 86400}

// maxCells bounds a timeline: when it has more, its steps become longer.
const maxCells = 600

// clock is the common time of all timelines.
type clock struct {
	began bool
	start int64 // of cell 0, in seconds; a multiple of the step
	step  int   // of steps
}

// cellAt is the cell of a time. widen is called for each step that becomes longer,
// with the old cells' distance from the new start and how many go into one.
func (c *clock) cellAt(ms int64, widen func(offset, into int64)) int {
	second := ms / 1000
	if !c.began {
		c.began, c.start = true, second
	}
	for (second-c.start)/steps[c.step] >= maxCells && c.step < len(steps)-1 {
		old := steps[c.step]
		c.step++
		width := steps[c.step]
		start := c.start - c.start%width
		widen((c.start-start)/old, width/old)
		c.start = start
	}
	return int((second - c.start) / steps[c.step])
}

// count adds a request to a series.
func count(series []cell, at int, refused bool) []cell {
	for len(series) <= at {
		series = append(series, cell{})
	}
	series[at].requests++
	if refused {
		series[at].refused++
	}
	return series
}

// widened puts so many cells into one.
func widened(series []cell, offset, into int64) []cell {
	if len(series) == 0 {
		return series
	}
	wide := make([]cell, (int64(len(series))-1+offset)/into+1)
	for i, c := range series {
		at := (int64(i) + offset) / into
		wide[at].requests += c.requests
		wide[at].refused += c.refused
	}
	return wide
}
