package page

import (
	"math"
	"strconv"
	"time"
)

// chart is a plot as the template draws it. Its width is about that of a phone, so
// that letters stay readable there.
type chart struct {
	Width, Height float64
	Left, Bottom  float64 // where the axes cross
	Label         string  // for who does not see it
	Bars          []bar
	Across        []tick // gridlines, by y
	Along         []tick // by x
	Mark          *tick  // a line upwards
	MarkEnd       bool   // its text stands left of it
	Axis          string // under the ticks
}

type bar struct {
	X, Y, Width, Height float64
	Class               string
	Title               string
	Count               string // above it
}

type tick struct {
	At   float64
	Text string
}

const (
	width, height = 380.0, 190.0
	left, right   = 44.0, 30.0 // half of the last label's width
	top, bottom   = 22.0, 38.0
	plotWidth     = width - left - right
	plotHeight    = height - top - bottom
)

func newChart(label, axis string) *chart {
	return &chart{Width: width, Height: height, Left: left, Bottom: height - bottom, Label: label, Axis: axis}
}

// ceiling is the next of 1, 2, 4, 6, 8, 10, 20, …
func ceiling(n int64) int64 {
	for scale := int64(1); ; scale *= 10 {
		for _, step := range [...]int64{1, 2, 4, 6, 8} {
			if step*scale >= n || scale >= 1e17 {
				return step * scale
			}
		}
	}
}

// short is 12, 3k or 4.5M.
func short(n int64) string {
	format := func(f float64, unit string) string {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) + unit
	}
	switch {
	case n >= 1e9:
		return format(float64(n)/1e9, "G")
	case n >= 1e6:
		return format(float64(n)/1e6, "M")
	case n >= 1e4:
		return format(float64(n)/1e3, "k")
	}
	return strconv.FormatInt(n, 10)
}

// spans are distances between marks of time.
var spans = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
	14 * 24 * time.Hour, 30 * 24 * time.Hour, 90 * 24 * time.Hour, 365 * 24 * time.Hour, 3650 * 24 * time.Hour,
}

// timeTicks are at most five moments that people would choose.
func timeTicks(from, to time.Time) (at []time.Time, layout string) {
	span := spans[len(spans)-1]
	for _, s := range spans {
		if to.Sub(from) <= 5*s {
			span = s
			break
		}
	}
	switch {
	case span < time.Minute:
		layout = "15:04:05"
	case span < 24*time.Hour && to.Sub(from) <= 24*time.Hour:
		layout = "15:04"
	case span < 24*time.Hour:
		layout = "Jan 2 15h"
	default:
		layout = "Jan 2"
	}
	for t := from.Truncate(span); !t.After(to); t = t.Add(span) {
		if !t.Before(from) {
			at = append(at, t)
		}
	}
	return at, layout
}

// Half is where the count over a bar is centred.
func (b bar) Half() float64 { return b.Width / 2 }
