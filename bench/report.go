package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// report is everything that a measurement found, and what it was taken with.
type report struct {
	Machine  machine   `json:"machine"`
	Versions versions  `json:"versions"`
	Settings settings  `json:"settings"`
	Summary  []summary `json:"summary"`
	Ratios   []ratio   `json:"ratios"`
	Cells    []cell    `json:"cells"`
}

// summary is one column under one load, over all rounds.
type summary struct {
	Column            string `json:"column"`
	Connections       int    `json:"connections"`
	RequestsPerSecond spread `json:"requests_per_second"`
	P50               spread `json:"p50_us"`
	P99               spread `json:"p99_us"`
	Decisions         spread `json:"redis_decisions_per_request"`
	EnvoyCPU          spread `json:"envoy_cpu_us_per_request"`
	RedisCPU          spread `json:"redis_cpu_us_per_request"`
	ServiceCPU        spread `json:"service_cpu_us_per_request"`
}

func newReport(m machine, v versions, s settings, cells []cell) report {
	r := report{Machine: m, Versions: v, Settings: s, Cells: cells, Ratios: ratios(cells, s.Connections, s.Columns)}
	for _, n := range s.Connections {
		for _, key := range s.Columns {
			r.Summary = append(r.Summary, summarise(cells, key, n))
		}
	}
	return r
}

func summarise(cells []cell, key string, connections int) summary {
	over := func(of func(cell) float64) spread {
		var values []float64
		for _, c := range cells {
			if c.Column == key && c.Connections == connections {
				values = append(values, of(c))
			}
		}
		return spreadOf(values)
	}
	return summary{
		Column: key, Connections: connections,
		RequestsPerSecond: over(func(c cell) float64 { return c.RequestsPerSecond }),
		P50:               over(func(c cell) float64 { return c.P50 }),
		P99:               over(func(c cell) float64 { return c.P99 }),
		Decisions:         over(func(c cell) float64 { return c.Decisions }),
		EnvoyCPU:          over(func(c cell) float64 { return c.EnvoyCPU }),
		RedisCPU:          over(func(c cell) float64 { return c.RedisCPU }),
		ServiceCPU:        over(func(c cell) float64 { return c.ServiceCPU }),
	}
}

// writeJSON writes all figures to a file; "": nowhere.
func writeJSON(file string, figures any) error {
	if file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the figures as JSON: %w; report this with the table above", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w; make room there", file, err)
	}
	return nil
}
