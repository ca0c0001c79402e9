package main

import (
	"math"
	"slices"

	"routelimit/bench/figure"
)

// ratio is one column's figure against another's under one load. Lower is better for what is added, higher for
// throughput.
type ratio struct {
	Name    string  `json:"name"`
	Column  string  `json:"column"`
	Load    loading `json:"load"`
	Against string  `json:"against"` // column
	figure.Spread
	Goal float64 `json:"goal,omitempty"` // 0: none is set
}

// Names of ratios.
const (
	addedP50    = "added p50"
	addedP99    = "added p99"
	addedWorker = "added worker time"
	addedCPU    = "added CPU of all servers"
	throughput  = "requests/s"
)

// spares says that a column does not ask Redis about each request.
func (c *column) spares() bool { return c.asks == seldom || c.asks == leased }

// goal is what a column is to reach in a closed loop of one caller: an upper bound of what is added, a lower one of
// throughput.
type goal struct{ name, column, against string }

var goals = map[goal]map[int]float64{ // by connections
	{addedP50, keyProxied, ""}:        {1: 0.35, 8: 0.3, 64: 0.2},
	{addedP99, keyProxied, ""}:        {1: 0.15, 8: 0.15, 64: 0.15},
	{addedWorker, keyProxied, ""}:     {64: 0.15},
	{throughput, keyProxied, keyNone}: {64: 0.85},
	{throughput, keyLease, keyIdle}:   {64: 0.9},
	{throughput, keyDeny, keyIdle}:    {64: 0.9},
}

// measured is something of a cell that a limiter adds to.
type measured struct {
	name   string
	of     func(cell) float64
	closed bool // says nothing of a load at a fixed rate
}

// addedFigures are compared with the same of envoyproxy/ratelimit, each less that of no limiter. The time of a worker for
// one request is 1/throughput: with enough connections the worker is never idle.
var addedFigures = []measured{
	{addedP50, func(c cell) float64 { return c.P50 }, false},
	{addedP99, func(c cell) float64 { return c.P99 }, false},
	{addedWorker, func(c cell) float64 { return 1e6 / c.RequestsPerSecond }, true},
	{addedCPU, cell.serverCPU, false},
}

// ratios compares within each round, so that a slow minute weighs on both sides, and sums up over the rounds. A round in
// which the service seemed to add nothing defines no ratio and is left out; Rounds shows that.
func ratios(cells []cell, loads []loading, columns []string) (list []ratio) {
	add := func(name, key, against string, l loading, s figure.Spread) {
		if s.Rounds == 0 {
			return
		}
		r := ratio{Name: name, Column: key, Load: l, Against: against, Spread: s}
		if l == (loading{Connections: l.Connections, Identities: "hot"}) {
			of := against
			if isService(against) {
				of = ""
			}
			r.Goal = goals[goal{name, key, of}][l.Connections]
		}
		list = append(list, r)
	}
	for _, f := range addedFigures {
		for _, l := range loads {
			if f.closed && l.open() {
				continue
			}
			service := better(cells, l, f, columns)
			for _, key := range columns {
				if c := find(key); service != "" && c.asks != never && c.key != keyDeny && !isService(key) {
					add(f.name, key, service, l, compare(cells, l, []string{key, keyNone, service}, f.addedRatio))
				}
			}
		}
	}
	for _, against := range []string{keyNone, keyIdle} {
		for _, l := range loads {
			for _, key := range columns {
				// What does not ask each time is compared with a module that decides nothing, too.
				if key != keyNone && !l.open() && (against == keyNone || find(key).spares()) {
					add(throughput, key, against, l, compare(cells, l, []string{key, against}, throughputRatio))
				}
			}
		}
	}
	return list
}

// better is the form of the service that has the lower median of a figure under a load; "" without any.
func better(cells []cell, l loading, f measured, columns []string) (best string) {
	least := math.Inf(1)
	for _, key := range columns {
		var values []float64
		for _, c := range cells {
			if isService(key) && c.Column == key && c.Load == l {
				values = append(values, f.of(c))
			}
		}
		if s := figure.SpreadOf(values); s.Rounds > 0 && s.Median < least {
			best, least = key, s.Median
		}
	}
	return best
}

// addedRatio takes a column's cell, that of no limiter and that of the service.
func (f measured) addedRatio(c []cell) float64 {
	ours, base, theirs := f.of(c[0]), f.of(c[1]), f.of(c[2])
	if theirs <= base {
		return math.NaN()
	}
	return (ours - base) / (theirs - base)
}

// throughputRatio takes a column's cell and that of the one it is compared with.
func throughputRatio(c []cell) float64 { return c[0].RequestsPerSecond / c[1].RequestsPerSecond }

// compare evaluates a ratio of some columns' cells in each round that has them all.
func compare(cells []cell, l loading, columns []string, ratio func([]cell) float64) figure.Spread {
	rounds := map[int][]cell{}
	for _, c := range cells {
		if at := slices.Index(columns, c.Column); at >= 0 && c.Load == l {
			if rounds[c.Round] == nil {
				rounds[c.Round] = make([]cell, len(columns))
			}
			rounds[c.Round][at] = c
		}
	}
	var values []float64
	for _, of := range rounds {
		if !slices.ContainsFunc(of, func(c cell) bool { return c.Column == "" }) {
			values = append(values, ratio(of))
		}
	}
	return figure.SpreadOf(values)
}
