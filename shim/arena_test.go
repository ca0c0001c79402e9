package shim

import (
	"testing"
	"unsafe"
)

func TestArenaGivesBytesThatDoNotOverlap(t *testing.T) {
	var a arena
	sizes := []int{1, 7, 8, 9, 0, 100, arenaSize / 2}
	var parts [][]byte
	for i, size := range sizes {
		part := unsafe.Slice((*byte)(a.alloc(size)), size)
		for j := range part {
			part[j] = byte(i + 1)
		}
		parts = append(parts, part)
	}
	for i, part := range parts {
		for _, b := range part {
			if b != byte(i+1) {
				t.Fatalf("part %d was overwritten by part %d", i, b-1)
			}
		}
	}
}

func TestArenaServesWhatDoesNotFitApart(t *testing.T) {
	var a arena
	for range 3 {
		p := unsafe.Slice((*byte)(a.alloc(arenaSize-100)), arenaSize-100)
		p[0], p[len(p)-1] = 1, 2
	}
	if len(a.apart) != 2 {
		t.Fatalf("%d answers lie apart, want the 2 that did not fit", len(a.apart))
	}
	a.reset()
	if a.used != 0 || a.apart != nil {
		t.Fatal("reset kept memory")
	}
}

func TestArenaAnswersEverySizeWithAnAddress(t *testing.T) {
	for _, size := range []int{-1, 0, 1, arenaSize - 1, arenaSize, arenaSize + 1, 4 << 20} {
		var a arena
		if a.alloc(size) == nil {
			t.Errorf("size %d: no address", size)
		}
		if a.alloc(0) == nil {
			t.Errorf("nothing after size %d: no address", size)
		}
	}
}

func TestArenaAllocatesNothingForUsualSizes(t *testing.T) {
	var a arena
	if n := testing.AllocsPerRun(100, func() { a.alloc(1000); a.alloc(20); a.reset() }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
