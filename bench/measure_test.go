package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrderTakesTurns(t *testing.T) {
	for _, c := range []struct {
		n, turn int
		want    []int
	}{
		{3, 0, []int{0, 1, 2}}, {3, 1, []int{1, 2, 0}}, {3, 2, []int{2, 0, 1}},
		{3, 3, []int{0, 2, 1}}, {3, 4, []int{1, 0, 2}}, {3, 5, []int{2, 1, 0}},
		{3, 6, []int{0, 1, 2}}, {1, 7, []int{0}},
	} {
		if diff := cmp.Diff(c.want, order(c.n, c.turn)); diff != "" {
			t.Errorf("order(%d, %d) (-want +got):\n%s", c.n, c.turn, diff)
		}
	}
}
