package main

import (
	"fmt"
	"math"
	"slices"

	"routelimit/bench/figure"
	"routelimit/bench/load"
	"routelimit/bench/plot"
)

// plot draws what the README shows: what a limiter adds to a request, and how many requests pass.
func (r report) plot() []byte {
	few, many := r.closedAt(8), r.closedAt(64)
	t := plot.Table{
		Title: "What a limiter costs",
		Panels: []string{
			fmt.Sprintf("added to p50, µs, %s", figure.Plural(few.Connections, "connection")),
			fmt.Sprintf("added to p99, µs, %s", figure.Plural(few.Connections, "connection")),
			fmt.Sprintf("requests/s, %s", figure.Plural(many.Connections, "connection")),
		},
		Notes: []string{
			fmt.Sprintf("Medians of %s, with the span of all. Envoy %s, %s, %s, %d cores.", figure.Plural(r.Settings.Rounds, "round"),
				r.Versions.Envoy, figure.Plural(r.Settings.EnvoyWorkers, "worker"), r.Versions.Redis, r.Machine.Cores),
			"One caller, one limit, closed loop; the load, Envoy, its upstream, Redis and the service share the machine.",
		},
	}
	for _, key := range r.Settings.Columns {
		t.Rows = append(t.Rows, plot.Row{Name: title(key), Class: class(key), Values: []plot.Value{
			r.addedValue(key, few, func(c cell) float64 { return c.P50 }),
			r.addedValue(key, few, func(c cell) float64 { return c.P99 }),
			valueOf(compare(r.Cells, many, []string{key}, func(c []cell) float64 { return c[0].RequestsPerSecond })),
		}})
	}
	return t.SVG()
}

// closedAt is the closed loop of one caller at so many connections, or else the last one.
func (r report) closedAt(connections int) loading {
	wanted := loading{Connections: connections, Identities: load.Hot}
	if slices.Contains(r.Settings.Loads, wanted) {
		return wanted
	}
	last := r.Settings.Loads[0]
	for _, l := range r.Settings.Loads {
		if !l.open() && l.Identities == last.Identities {
			last = l
		}
	}
	return last
}

func (r report) addedValue(key string, l loading, of func(cell) float64) plot.Value {
	if key == keyNone {
		return plot.Value{Value: math.NaN(), Text: "0"}
	}
	return valueOf(compare(r.Cells, l, []string{key, keyNone}, func(c []cell) float64 { return of(c[0]) - of(c[1]) }))
}

func valueOf(s figure.Spread) plot.Value {
	if s.Rounds == 0 {
		return plot.Value{Value: math.NaN(), Text: "not measured"}
	}
	return plot.Value{Value: s.Median, Least: s.Least, Most: s.Most, Text: figure.Whole(s.Median)}
}

func class(key string) plot.Class {
	switch {
	case isService(key):
		return plot.Orange
	case find(key).limits && find(key).policy != nil:
		return plot.Blue
	}
	return plot.Grey
}
