package main

import (
	"slices"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// report is everything that a measurement found, and what it was taken with.
type report struct {
	Machine  stand.Machine  `json:"machine"`
	Versions stand.Versions `json:"versions"`
	Settings settings       `json:"settings"`
	Summary  []summary      `json:"summary"`
	Ratios   []ratio        `json:"ratios"`
	Cells    []cell         `json:"cells"`
}

// summary is one column under one load, over all rounds.
type summary struct {
	Column  string  `json:"column"`
	Load    loading `json:"load"`
	Waiting int     `json:"never_sent"` // in all rounds

	RequestsPerSecond figure.Spread `json:"requests_per_second"`
	P50               figure.Spread `json:"p50_us"`
	P90               figure.Spread `json:"p90_us"`
	P99               figure.Spread `json:"p99_us"`
	P999              figure.Spread `json:"p99_9_us"`
	Decisions         figure.Spread `json:"redis_decisions_per_request"`
	Calls             figure.Spread `json:"redis_commands_per_request"`
	EnvoyCPU          figure.Spread `json:"envoy_cpu_us_per_request"`
	RedisCPU          figure.Spread `json:"redis_cpu_us_per_request"`
	ServiceCPU        figure.Spread `json:"service_cpu_us_per_request"`
	LoadShare         figure.Spread `json:"load_share_of_a_core"`
	LateP99           figure.Spread `json:"load_late_by_p99_us"`
}

func newReport(m stand.Machine, v stand.Versions, s settings, cells []cell) report {
	r := report{Machine: m, Versions: v, Settings: s, Cells: cells, Ratios: ratios(cells, s.Loads, s.Columns)}
	for _, l := range s.Loads {
		for _, key := range s.Columns {
			if find(key).takes(l) {
				r.Summary = append(r.Summary, summarise(cells, key, l))
			}
		}
	}
	return r
}

func summarise(cells []cell, key string, l loading) summary {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.Column != key || c.Load != l })
	over := func(of func(cell) float64) figure.Spread {
		var values []float64
		for _, c := range cells {
			values = append(values, of(c))
		}
		return figure.SpreadOf(values)
	}
	s := summary{
		Column: key, Load: l,
		RequestsPerSecond: over(func(c cell) float64 { return c.RequestsPerSecond }),
		P50:               over(func(c cell) float64 { return c.P50 }),
		P90:               over(func(c cell) float64 { return c.P90 }),
		P99:               over(func(c cell) float64 { return c.P99 }),
		P999:              over(func(c cell) float64 { return c.P999 }),
		Decisions:         over(func(c cell) float64 { return c.Decisions }),
		Calls:             over(func(c cell) float64 { return c.Calls }),
		EnvoyCPU:          over(func(c cell) float64 { return c.EnvoyCPU }),
		RedisCPU:          over(func(c cell) float64 { return c.RedisCPU }),
		ServiceCPU:        over(func(c cell) float64 { return c.ServiceCPU }),
		LoadShare:         over(func(c cell) float64 { return c.LoadShare }),
		LateP99:           over(func(c cell) float64 { return c.LateP99 }),
	}
	for _, c := range cells {
		s.Waiting += c.Waiting
	}
	return s
}

func (r report) find(key string, l loading) (summary, bool) {
	at := slices.IndexFunc(r.Summary, func(s summary) bool { return s.Column == key && s.Load == l })
	if at < 0 {
		return summary{}, false
	}
	return r.Summary[at], true
}
