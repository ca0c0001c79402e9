package main

import (
	"fmt"
	"math"
	"slices"

	"routelimit/bench/plot"
)

// fleetChart shows what a decision costs Redis, by the whole fleet's rate, with a line for each number of Envoys.
func fleetChart(points []fleetPoint) plot.Chart {
	c := plot.Chart{Title: "What a fleet's decision costs Redis", X: "decisions a second, of the whole fleet", Y: "CPU of Redis, µs a decision"}
	var rates []int
	for _, p := range points {
		if !slices.Contains(rates, p.Rate) {
			rates = append(rates, p.Rate)
		}
	}
	slices.Sort(rates)
	for _, rate := range rates {
		c.Ticks = append(c.Ticks, float64(rate))
	}
	classes := []plot.Class{plot.Blue, plot.Orange, plot.Green}
	for i, envoys := range fleetEnvoys {
		line := plot.Line{Name: fmt.Sprintf("%d Envoys", envoys), Class: classes[i]}
		for _, rate := range rates {
			value := math.NaN()
			for _, p := range points {
				if p.Envoys == envoys && p.Rate == rate {
					value = p.CPU.Median
				}
			}
			line.Values = append(line.Values, value)
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
