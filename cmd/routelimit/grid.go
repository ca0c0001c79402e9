package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// grid is a table whose first column stands left, all others right.
type grid [][]string

func (g *grid) row(cells ...string) { *g = append(*g, cells) }

func (g grid) print(out io.Writer) {
	var widths []int
	for _, row := range g {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(out, line.String())
	}
}
