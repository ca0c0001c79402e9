package figure

import (
	"strings"
	"unicode/utf8"
)

// Align makes a table of rows: the first column to the left, the others to the right, two blanks between them. A row of
// one cell is a heading and widens nothing.
func Align(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		if len(row) < 2 {
			continue
		}
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		if len(row) == 1 {
			b.WriteString(row[0] + "\n")
			continue
		}
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line += cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
