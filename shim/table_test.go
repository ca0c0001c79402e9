package shim

import (
	"testing"

	"pgregory.net/rapid"
)

// A table does what a map does, for ids that grow, that collide and that come again.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got table[int]
		want := map[uint32]int{}
		ids := rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Map(rapid.Uint32Range(0, 40), func(n uint32) uint32 { return n << 6 }), rapid.Uint32())
		for i := range rapid.IntRange(0, 600).Draw(t, "steps") {
			id := ids.Draw(t, "id")
			if rapid.IntRange(0, 9).Draw(t, "what") < 6 {
				got.put(id, i)
				want[id] = i
			} else {
				got.remove(id)
				delete(want, id)
			}
			value, ok := got.get(id)
			if known, exists := want[id]; ok != exists || value != known {
				t.Fatalf("%d is %d %v, want %d %v", id, value, ok, known, exists)
			}
		}
		for id, known := range want {
			if value, ok := got.get(id); !ok || value != known {
				t.Fatalf("%d is %d %v, want %d", id, value, ok, known)
			}
		}
		if got.used != len(want) {
			t.Fatalf("%d used, want %d", got.used, len(want))
		}
	})
}

// Requests that stay, one after the other, do not slow down those that come later.
func TestLongRequestsAreInNobodysWay(t *testing.T) {
	var ids table[int]
	for id := range uint32(20_000) {
		ids.put(id, 1)
	}
	farthest := 0
	for id := uint32(20_000); id < 300_000; id++ {
		ids.put(id, 1)
		at := ids.index(id)
		farthest = max(farthest, (at-ids.home(id))&(len(ids.slots)-1))
		ids.remove(id - 10)
		if id < 20_010 {
			ids.put(id-10, 1)
		}
	}
	if farthest > 32 {
		t.Errorf("a request stands %d slots from its home", farthest)
	}
}

func TestTableGivesTheMemoryOfABurstBack(t *testing.T) {
	var ids table[int]
	for id := range uint32(10_000) {
		ids.put(id, 1)
	}
	for id := range uint32(10_000) {
		ids.remove(id)
	}
	if len(ids.slots) != leastSlots {
		t.Errorf("%d slots are left, want %d", len(ids.slots), leastSlots)
	}
	if _, ok := ids.get(5); ok {
		t.Error("an id is left")
	}
}

func TestTableAllocatesNothingForRequestsThatComeAndGo(t *testing.T) {
	var ids table[*int]
	id, value := uint32(0), new(int)
	if n := testing.AllocsPerRun(1000, func() {
		ids.put(id, value)
		if id > 20 {
			ids.remove(id - 20)
		}
		id++
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
