package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlignPutsTheFirstColumnLeftAndTheOthersRight(t *testing.T) {
	for _, c := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"nothing", nil, ""},
		{"numbers", [][]string{{"", "p50 us"}, {"long name", "1"}}, "           p50 us\nlong name       1\n"},
		{"a heading widens nothing", [][]string{{"a", "b"}, {"a long heading"}, {"c", "d"}}, "a  b\na long heading\nc  d\n"},
		{"runes, not bytes", [][]string{{"a", "1 … 2"}, {"b", "12345"}}, "a  1 … 2\nb  12345\n"},
		{"no blanks at the end", [][]string{{"a", "b"}, {"c", ""}}, "a  b\nc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Align(c.rows)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}
