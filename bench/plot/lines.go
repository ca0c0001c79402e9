package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Chart is lines over the same values of one thing.
type Chart struct {
	Title, X, Y string // what the axes show
	Ticks       []float64
	Lines       []Line
}

// Line is one line. Its points are over the chart's ticks; NaN draws none.
type Line struct {
	Name   string
	Class  Class
	Values []float64
}

const (
	chartWidth, chartHeight = 430.0, 270.0
	chartLeft, chartRight   = 52.0, 20.0
	chartTop, chartBottom   = 66.0, 46.0
)

// SVG draws the chart. The ticks are equally far from each other, whatever their values; the other axis begins at 0.
func (c Chart) SVG() []byte {
	p := &picture{width: chartWidth, height: chartHeight}
	p.text(pad, 24, "title", c.Title)
	c.legend(p)
	most := 0.0
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	most = ceiling(most)
	y := func(value float64) float64 {
		return chartHeight - chartBottom - (chartHeight-chartTop-chartBottom)*max(0, value)/most
	}
	x := func(i int) float64 {
		if len(c.Ticks) == 1 {
			return (chartLeft + chartWidth - chartRight) / 2
		}
		return chartLeft + 14 + (chartWidth-chartLeft-chartRight-28)*float64(i)/float64(len(c.Ticks)-1)
	}
	for i := range 5 {
		value := most * float64(i) / 4
		p.line(chartLeft, y(value), chartWidth-chartRight, y(value), "grid")
		p.text(chartLeft-6, y(value)+4, "note end", Short(value))
	}
	for i, tick := range c.Ticks {
		p.text(x(i), chartHeight-chartBottom+16, "note middle", Short(tick))
	}
	p.text((chartLeft+chartWidth-chartRight)/2, chartHeight-10, "note middle", c.X)
	for _, l := range c.Lines {
		l.draw(p, x, y)
	}
	return p.bytes(c.Title + ": " + c.Y + " by " + c.X)
}

// legend names the lines under the title, behind what the figures are.
func (c Chart) legend(p *picture) {
	at := pad
	p.text(at, 44, "note", c.Y)
	if len(c.Lines) < 2 {
		return
	}
	for _, l := range c.Lines {
		p.element("rect", "x", at, "y", 50.0, "width", 10.0, "height", 4.0, "class", string(l.Class))
		p.text(at+14, 57, "note", l.Name)
		at += 14 + textWidth(l.Name)*0.9 + 14
	}
}

func (l Line) draw(p *picture, x func(int) float64, y func(float64) float64) {
	var points []string
	for i, v := range l.Values {
		if math.IsNaN(v) {
			continue
		}
		points = append(points, fmt.Sprintf("%.1f,%.1f", x(i), y(v)))
		p.element("circle", "cx", x(i), "cy", y(v), "r", 3.0, "class", string(l.Class))
	}
	p.element("polyline", "points", strings.Join(points, " "), "class", string(l.Class)+" line")
}

// ceiling is the next of 1, 2, 4, 6, 8, 10, 20, … or of their tenths.
func ceiling(f float64) float64 {
	if f <= 0 || math.IsInf(f, 0) {
		return 1
	}
	scale := math.Pow(10, math.Floor(math.Log10(f)))
	for _, step := range [...]float64{1, 2, 4, 6, 8} {
		if step*scale >= f {
			return step * scale
		}
	}
	return 10 * scale
}

// Short is 0.5, 12, 300, 3k or 4.5M: three digits at most.
func Short(f float64) string {
	unit := ""
	switch {
	case f >= 999.5e3:
		f, unit = f/1e6, "M"
	case f >= 999.5:
		f, unit = f/1e3, "k"
	}
	digits := 0
	switch {
	case f < 9.95:
		digits = 2
	case f < 99.5:
		digits = 1
	}
	text := strconv.FormatFloat(f, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + unit
}
