package main

import (
	"fmt"
	"strings"
)

// Measures of a picture, in its own units.
const (
	width, height = 720, 250
	left, right   = 50, 20
	top, bottom   = 40, 200 // of the curve
	dots          = 222     // where the requests stand
	tallest       = 20      // of the curve
)

func x(at int) float64 { return left + float64(at)*(width-left-right)/shown }
func y(n int) float64  { return bottom - float64(n)*(bottom-top)/tallest }

// draw returns the picture: the requests as dots, filled where they passed, and how
// many passed in the minute before each moment, against the limit.
func (s scene) draw() string {
	all := s.play()
	passed := 0
	for _, r := range all {
		if r.passed {
			passed++
		}
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`, width, height)
	p(`<title>%s: %d of %d requests pass, at most %d within a minute</title>`, s.title, passed, len(all), most(all))
	p(`<rect width="%d" height="%d" fill="#ffffff"/>`, width, height)
	p(`<text x="%d" y="20" font-size="14" fill="#222222">%s: %d of %d requests pass, at most %d within any minute</text>`, left, s.title, passed, len(all), most(all))
	for n := 0; n <= tallest; n += 5 {
		p(`<text x="%d" y="%.1f" text-anchor="end" fill="#555555">%d</text>`, left-6, y(n)+4, n)
	}
	for at := 0; at <= shown; at += 30 {
		p(`<text x="%.1f" y="%d" text-anchor="middle" fill="#555555">%d s</text>`, x(at), height-6, at)
	}
	for at := 0; at <= shown; at += window {
		p(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#bbbbbb" stroke-dasharray="4 3"/>`, x(at), top, x(at), bottom)
	}
	p(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#888888"/>`, left, bottom, width-right, bottom)
	p(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#c0392b" stroke-width="1.5"/>`, left, y(quota), width-right, y(quota))
	p(`<text x="%d" y="%.1f" text-anchor="end" fill="#c0392b">the limit, %d a minute</text>`, width-right, y(quota)-5, quota)
	p(`<path d="%s" fill="none" stroke="#1f5fa8" stroke-width="2"/>`, curve(all))
	for _, r := range all {
		if r.passed {
			p(`<circle cx="%.1f" cy="%d" r="3.5" fill="#1f5fa8"/>`, x(r.at), dots)
		} else {
			p(`<circle cx="%.1f" cy="%d" r="3" fill="#ffffff" stroke="#c0392b"/>`, x(r.at), dots)
		}
	}
	p(`</svg>`)
	return b.String()
}

// curve is a path of steps.
func curve(all []request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", x(0), y(0))
	last := 0
	for at := range shown + 1 {
		if n := within(all, at); n != last {
			fmt.Fprintf(&b, "H%.1fV%.1f", x(at), y(n))
			last = n
		}
	}
	fmt.Fprintf(&b, "H%.1f", x(shown))
	return b.String()
}
