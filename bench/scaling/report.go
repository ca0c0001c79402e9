package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"routelimit/bench/figure"
	"routelimit/bench/plot"
	"routelimit/bench/stand"
)

// report is everything that was found, and what it was taken with.
type report struct {
	Machine  stand.Machine  `json:"machine"`
	Versions stand.Versions `json:"versions"`
	Settings settings       `json:"settings"`
	Axes     []axisReport   `json:"axes"`
	Fleet    []fleetPoint   `json:"fleet,omitempty"`
	Cost     *cost          `json:"cost_of_a_decision,omitempty"` // from the smallest fleet; the larger ones check it
	Needs    []need         `json:"calculated,omitempty"`
}

type axisReport struct {
	Name   string  `json:"axis"`
	Points []point `json:"points"`
}

func (r report) text() string {
	m, v, s := r.Machine, r.Versions, r.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s, %d cores, %s, load %.2f before the start\n", m.CPU, m.Cores, m.System, m.Load)
	fmt.Fprintf(&b, "versions  Envoy %s; %s; %s; routelimit.wasm %s\n", v.Envoy, v.Redis, v.Go, v.Module)
	fmt.Fprintf(&b, "settings  unless it is what grows: one Envoy of one worker, one Redis, one limit a request, 10,000 callers, 64 connections in a\n"+
		"          closed loop; %s of %d s, values in turn, after one to warm up; medians\n", figure.Plural(s.Rounds, "round"), s.Seconds)
	for _, a := range r.Axes {
		b.WriteString("\n" + figure.Align(a.rows()))
	}
	if len(r.Fleet) > 0 {
		b.WriteString("\n" + figure.Align(fleetRows(r.Fleet, r.Cost)))
	}
	if r.Cost != nil {
		b.WriteString("\n" + figure.Align(needRows(*r.Cost, r.Needs)))
	}
	return b.String()
}

func (a axisReport) axis() axis {
	for _, one := range axes() {
		if one.name == a.Name {
			return one
		}
	}
	return axis{name: a.Name, title: a.Name}
}

func (a axisReport) rows() [][]string {
	rows := [][]string{
		{a.axis().title},
		{a.axis().x, "requests/s", "p50 us", "p99 us", "CPU us: Envoy, a request", "Redis, a decision", "both, against the first", "read at once", "bytes in, out"},
	}
	for _, p := range a.Points {
		rows = append(rows, []string{
			fmt.Sprint(p.Value), figure.Whole(p.RequestsPerSecond.Median), figure.Whole(p.P50.Median), figure.Whole(p.P99.Median),
			fmt.Sprintf("%.1f", p.EnvoyCPU.Median), fmt.Sprintf("%.1f", p.RedisCPU.Median),
			fmt.Sprintf("%.2f (%.2f … %.2f)", p.CPURatio.Median, p.CPURatio.Least, p.CPURatio.Most),
			fmt.Sprintf("%.1f", p.Together.Median), fmt.Sprintf("%.0f, %.0f", p.Read.Median, p.Wrote.Median),
		})
	}
	return rows
}

// calculate takes the cost of a decision from the smallest fleet, and from that what fleets need.
func (r *report) calculate() {
	var smallest []fleetPoint
	for _, p := range r.Fleet {
		if p.Envoys == r.Fleet[0].Envoys {
			smallest = append(smallest, p)
		}
	}
	if c, ok := fitCost(smallest); ok {
		last := smallest[len(smallest)-1]
		r.Cost, r.Needs = &c, needs(c, last.Read.Median, last.Wrote.Median)
	}
}

func fleetRows(points []fleetPoint, c *cost) [][]string {
	rows := [][]string{
		{fmt.Sprintf("One Redis of %d identities, and connections of so many Envoys of %d workers", fleetCallers, fleetWorkers)},
		{"Envoys", "connections", "decisions/s", "a message", "Redis CPU us", "calculated", "of a core", "p50 us", "p99 us", "bytes in, out", "memory MB", "the load's core", ""},
	}
	for _, p := range points {
		late, calculated := "", ""
		if p.Late {
			late = "late"
		}
		if c != nil {
			calculated = fmt.Sprintf("%.1f", c.at(p.PerSecond.Median))
		}
		rows = append(rows, []string{
			fmt.Sprint(p.Envoys), fmt.Sprint(p.Connections), figure.Whole(p.PerSecond.Median), fmt.Sprintf("%.1f", p.Together.Median),
			fmt.Sprintf("%.1f", p.CPU.Median), calculated, fmt.Sprintf("%.2f", p.Share.Median), figure.Whole(p.P50.Median), figure.Whole(p.P99.Median),
			fmt.Sprintf("%.0f, %.0f", p.Read.Median, p.Wrote.Median), figure.Whole(float64(p.Memory) / 1e6), fmt.Sprintf("%.2f", p.LoadShare.Median), late,
		})
	}
	return rows
}

// draw writes a plot for each axis into a folder; "": none.
func (r report) draw(folder string) error {
	if folder == "" {
		return nil
	}
	for _, a := range r.Axes {
		if err := figure.WriteFile(filepath.Join(folder, "scaling-"+a.Name+".svg"), a.chart().SVG()); err != nil {
			return err
		}
	}
	if len(r.Fleet) == 0 {
		return nil
	}
	return figure.WriteFile(filepath.Join(folder, "scaling-"+fleetName+".svg"), fleetChart(r.Fleet).SVG())
}

func (a axisReport) chart() plot.Chart {
	c := plot.Chart{Title: a.axis().title, X: a.axis().x, Y: "CPU, µs", Lines: []plot.Line{
		{Name: "Envoy, a request", Class: plot.Blue}, {Name: "Redis, a decision", Class: plot.Orange},
	}}
	for _, p := range a.Points {
		c.Ticks = append(c.Ticks, float64(p.Value))
		c.Lines[0].Values = append(c.Lines[0].Values, p.EnvoyCPU.Median)
		c.Lines[1].Values = append(c.Lines[1].Values, p.RedisCPU.Median)
	}
	return c
}
