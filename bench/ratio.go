package main

import (
	"math"
	"slices"
)

// ratio is one column's figure against another's under one load. Lower is better for what is added, higher for
// throughput.
type ratio struct {
	Name        string `json:"name"`
	Column      string `json:"column"`
	Connections int    `json:"connections"`
	spread
	Goal float64 `json:"goal,omitempty"` // what routelimit through redis_proxy is to reach; 0: none is set
}

// goals are by name and connections. Those of added figures are upper bounds, that of throughput is a lower one.
var goals = map[string]map[int]float64{
	addedP50:    {1: 0.35, 8: 0.3, 64: 0.2},
	addedP99:    {1: 0.15, 8: 0.15, 64: 0.15},
	addedWorker: {64: 0.15},
	throughput:  {64: 0.85},
}

// figure is something of a cell that a limiter adds to.
type figure struct {
	name string
	of   func(cell) float64
}

// addedFigures are compared with the same of envoyproxy/ratelimit, each less that of no limiter. The time of a worker for
// one request is 1/throughput: with enough connections the worker is never idle.
var addedFigures = []figure{
	{addedP50, func(c cell) float64 { return c.P50 }},
	{addedP99, func(c cell) float64 { return c.P99 }},
	{addedWorker, func(c cell) float64 { return 1e6 / c.RequestsPerSecond }},
}

// Names of ratios.
const (
	addedP50    = "added p50"
	addedP99    = "added p99"
	addedWorker = "added worker time"
	throughput  = "requests/s"
)

// ratios compares within each round, so that a slow minute weighs on both sides, and sums up over the rounds. A round in
// which the service seemed to add nothing defines no ratio and is left out; Rounds shows that.
func ratios(cells []cell, connections []int, columns []string) []ratio {
	var list []ratio
	add := func(name, key string, n int, s spread) {
		if s.Rounds == 0 {
			return
		}
		r := ratio{Name: name, Column: key, Connections: n, spread: s}
		if key == keyProxied {
			r.Goal = goals[name][n]
		}
		list = append(list, r)
	}
	for _, f := range addedFigures {
		for _, n := range connections {
			for _, key := range columns {
				if key != keyProxied && key != keyDirect {
					continue
				}
				add(f.name, key, n, compare(cells, n, []string{key, keyNone, keyService}, f.addedRatio))
			}
		}
	}
	for _, n := range connections {
		for _, key := range columns {
			if key != keyNone {
				add(throughput, key, n, compare(cells, n, []string{key, keyNone}, throughputRatio))
			}
		}
	}
	return list
}

// addedRatio takes a column's cell, that of no limiter and that of the service.
func (f figure) addedRatio(c []cell) float64 {
	ours, base, theirs := f.of(c[0]), f.of(c[1]), f.of(c[2])
	if theirs <= base {
		return math.NaN()
	}
	return (ours - base) / (theirs - base)
}

// throughputRatio takes a column's cell and that of no limiter.
func throughputRatio(c []cell) float64 { return c[0].RequestsPerSecond / c[1].RequestsPerSecond }

// compare evaluates a ratio of some columns' cells in each round that has them all.
func compare(cells []cell, connections int, columns []string, ratio func([]cell) float64) spread {
	rounds := map[int][]cell{}
	for _, c := range cells {
		if at := slices.Index(columns, c.Column); at >= 0 && c.Connections == connections {
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
	return spreadOf(values)
}
