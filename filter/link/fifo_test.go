package link

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestFifo_IsAQueueInBoundedMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		var want []int
		next, most := 1, 1
		check := func() {
			got := q.items[q.head:]
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("items (-want +got):\n%s", diff)
			}
			for i, v := range q.items[:cap(q.items)] {
				if (i < q.head || i >= len(q.items)) && v != 0 {
					t.Fatalf("place %d still holds %d", i, v)
				}
			}
			if cap(q.items) > 8*most {
				t.Fatalf("memory for %d items, where at most %d were held", cap(q.items), most)
			}
		}
		push := func(*rapid.T) {
			q.push(next)
			want = append(want, next)
			next++
			most = max(most, len(want))
			check()
		}
		pop := func(t *rapid.T) {
			if len(want) == 0 {
				t.Skip("empty")
			}
			if *q.peek() != want[0] || q.pop() != want[0] {
				t.Fatalf("pop does not give the oldest")
			}
			want = want[1:]
			check()
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": push, "push again": push, "pop": pop, "pop again": pop,
			"keep": func(t *rapid.T) {
				n := rapid.IntRange(1, 4).Draw(t, "every")
				wanted := func(v *int) bool { return *v%n == 0 }
				q.keep(wanted)
				var kept []int
				for _, v := range want {
					if wanted(&v) {
						kept = append(kept, v)
					}
				}
				want = kept
				check()
			},
		})
	})
}

// A queue that is full and moves on by one item at a time must not move all of
// them each time.
func TestFifo_MovesItsItemsOnlyWhereHalfIsFree(t *testing.T) {
	var q fifo[int]
	moves, head := 0, 0
	for i := range 1024 {
		q.push(i)
	}
	for i := range 100_000 {
		q.pop()
		q.push(i)
		if q.head < head {
			moves++
		}
		head = q.head
	}
	if moves > 2*100_000/1024 {
		t.Errorf("%d times all of 1024 items were moved for 100,000 that passed", moves)
	}
	if cap(q.items) > 4096 {
		t.Errorf("memory for %d items, where at most 1024 were held", cap(q.items))
	}
}
