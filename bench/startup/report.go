package main

import (
	"fmt"
	"strings"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// report is everything that was found, and what it was taken with.
type report struct {
	Machine  stand.Machine  `json:"machine"`
	Versions stand.Versions `json:"versions"`
	Settings settings       `json:"settings"`
	Size     size           `json:"module"`
	Starts   []startReport  `json:"starts"`
	Memory   []memoryReport `json:"memory"`
	Updates  []updateReport `json:"updates"`
}

func (r report) text() string {
	m, v, s := r.Machine, r.Versions, r.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s, %d cores, %s, load %.2f before the start\n", m.CPU, m.Cores, m.System, m.Load)
	fmt.Fprintf(&b, "versions  Envoy %s; %s; %s; routelimit.wasm %s\n", v.Envoy, v.Redis, v.Go, v.Module)
	fmt.Fprintf(&b, "settings  starts: %s in turn, 1 worker; memory: after a second of load over 64 connections; updates: %d requests a second\n"+
		"          over 32 connections for %d s, and again with another listener every %v, connections of the older one drained in %s s\n",
		figure.Plural(s.Rounds, "round"), s.Rate, s.Seconds, updateEach, drainTime)
	fmt.Fprintf(&b, "module    %.2f MB, %.2f MB gzipped\n", float64(r.Size.Plain)/1e6, float64(r.Size.Gzipped)/1e6)
	for _, rows := range [][][]string{r.startRows(), r.memoryRows(), r.updateRows()} {
		b.WriteString("\n" + figure.Align(rows))
	}
	return b.String()
}

func (r report) startRows() [][]string {
	rows := [][]string{{"from Envoy's start, ms, median (least … most)", "ready", "first decision", "CPU until then", "that request alone"}}
	text := func(s figure.Spread) string { return fmt.Sprintf("%.0f (%.0f … %.0f)", s.Median, s.Least, s.Most) }
	for _, one := range r.Starts {
		rows = append(rows, []string{
			one.Subject, text(one.Ready), text(one.First), text(one.CPU),
			fmt.Sprintf("%.1f (%.1f … %.1f)", one.Request.Median, one.Request.Least, one.Request.Most),
		})
	}
	return rows
}

func (r report) memoryRows() [][]string {
	rows := [][]string{{"Envoy's memory, MB"}}
	for _, workers := range memoryWorkers {
		rows[0] = append(rows[0], figure.Plural(workers, "worker"))
	}
	rows[0] = append(rows[0], "each further worker")
	for _, one := range r.Memory {
		row := []string{one.Subject}
		for _, workers := range memoryWorkers {
			row = append(row, fmt.Sprintf("%.0f", float64(one.ByWorkers[workers])/1e6))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", float64(one.EachWorker)/1e6)))
	}
	return rows
}

func (r report) updateRows() [][]string {
	rows := [][]string{{"updates under load, ms", "updates", "requests", "failed", "sent again", "without: p50", "p99", "longest", "with: p50", "p99", "longest"}}
	text := func(f float64) string { return fmt.Sprintf("%.1f", f) }
	for _, one := range r.Updates {
		rows = append(rows, []string{
			one.Subject, fmt.Sprint(one.Updates), fmt.Sprint(one.Requests), "0", fmt.Sprint(one.Resent),
			text(one.Quiet.P50), text(one.Quiet.P99), text(one.Quiet.Max), text(one.Updated.P50), text(one.Updated.P99), text(one.Updated.Max),
		})
	}
	return rows
}
