package figure

import "fmt"

// Whole is a figure without its fraction.
func Whole(f float64) string { return fmt.Sprintf("%.0f", f) }

// Plural is 1 round or 5 rounds.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
