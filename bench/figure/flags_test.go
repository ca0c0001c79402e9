package figure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsAreListsOfKnownThings(t *testing.T) {
	for _, c := range []struct {
		text    string
		numbers []int
		wrong   string
	}{
		{"1,8, 64", []int{1, 8, 64}, ""},
		{"", nil, ""},
		{"0", nil, `"0" is no number from 1 to 100`},
		{"101", nil, `"101"`},
		{"1,many", nil, `"many"`},
		{"8,8", nil, "names 8 twice"},
	} {
		got, err := Numbers("n", c.text, 1, 100)
		if diff := cmp.Diff(c.numbers, got); diff != "" || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("Numbers(%q) = %v, %v", c.text, got, err)
		}
	}
	for _, c := range []struct {
		text  string
		names []string
		wrong string
	}{
		{"hot, mix", []string{"hot", "mix"}, ""},
		{"cold", nil, `no "cold"; choose from hot,mix`},
		{"hot,hot", nil, "names hot twice"},
	} {
		got, err := Names("n", c.text, "hot", "mix")
		if diff := cmp.Diff(c.names, got); diff != "" || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("Names(%q) = %v, %v", c.text, got, err)
		}
	}
}
