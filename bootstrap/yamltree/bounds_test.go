package yamltree

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Short files that would take all memory, or minutes.
func TestWhatGrowsBeyondAllBoundsIsRefused(t *testing.T) {
	var bomb, merges strings.Builder
	bomb.WriteString("a0: &a0 x\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	merges.WriteString("all: &all\n")
	for i := range 1000 {
		fmt.Fprintf(&merges, "  k%d: 1\n", i)
	}
	merges.WriteString("list:\n" + strings.Repeat("- <<: *all\n", 1000))
	for name, c := range map[string]struct{ file, want string }{
		"brackets": {"a: " + strings.Repeat("[", 100_000), "nested more than 500 deep"},
		"braces":   {strings.Repeat("{a: ", 100_000) + strings.Repeat("}", 100_000), "nested more than 500 deep"},
		"dashes":   {strings.Repeat("- ", 100_000), "nested more than 500 deep"},
		"aliases":  {bomb.String(), "more than 1048576 values"},
		"merges":   {merges.String(), "more than 131072 members"},
		"some":     {"a: &a [" + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "]\nb: {<<: {c: *a}, d: *a}\n", ""},
	} {
		documents, err := Parse([]byte(c.file))
		if err == nil {
			err = CheckAliases(documents)
		}
		var broken *SyntaxError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &broken) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
