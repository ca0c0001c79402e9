package shim

import "math/bits"

// table finds values by the ids of contexts. The proxy gives ids in ascending
// order and ends contexts in any. One look-up of a Go map runs some five
// functions; this one runs itself.
//
// Open addressing with linear probing and Fibonacci hashing, see Knuth, The Art of
// Computer Programming, volume 3, section 6.4, algorithms L and R. Were ids their
// own hashes, requests that stay would fill a run of slots, and each id that comes
// to the same place later would have to go through all of it.
type table[T any] struct {
	slots []slot[T] // 2^(32-shift) of them, at most half of them used
	shift uint
	used  int
}

type slot[T any] struct {
	id    uint32
	used  bool
	value T
}

// leastSlots is how many slots a table keeps at least.
const leastSlots = 64

// get returns the value of id.
func (t *table[T]) get(id uint32) (value T, ok bool) {
	if s := t.find(id); s != nil && s.used {
		return s.value, true
	}
	return value, false
}

// put sets the value of id.
func (t *table[T]) put(id uint32, value T) {
	if 2*t.used >= len(t.slots) {
		t.resize(max(leastSlots, 2*len(t.slots)))
	}
	s := t.find(id)
	if !s.used {
		t.used++
	}
	*s = slot[T]{id, true, value}
}

// remove forgets id. The memory of a burst is given back in the end.
func (t *table[T]) remove(id uint32) {
	if s := t.find(id); s == nil || !s.used {
		return
	}
	t.used--
	t.close(t.index(id))
	if len(t.slots) > leastSlots && 8*t.used < len(t.slots) {
		t.resize(len(t.slots) / 2)
	}
}

// find returns the slot of id, or the free one where it would be; nil if the
// table has no slots.
func (t *table[T]) find(id uint32) *slot[T] {
	if len(t.slots) == 0 {
		return nil
	}
	return &t.slots[t.index(id)]
}

func (t *table[T]) index(id uint32) int {
	mask := len(t.slots) - 1
	i := t.home(id)
	for t.slots[i].used && t.slots[i].id != id {
		i = (i + 1) & mask
	}
	return i
}

// home is where id stands if the slot is free: 2^32 divided by the golden ratio
// spreads ids that follow each other.
func (t *table[T]) home(id uint32) int { return int(id * 2654435769 >> t.shift) }

// close frees a slot, and moves there what would not be found any more.
func (t *table[T]) close(free int) {
	mask := len(t.slots) - 1
	for i := (free + 1) & mask; t.slots[i].used; i = (i + 1) & mask {
		if (i-t.home(t.slots[i].id))&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = slot[T]{}
}

func (t *table[T]) resize(n int) {
	old := t.slots
	t.slots = make([]slot[T], n)
	t.shift = uint(32 - bits.TrailingZeros(uint(n)))
	for i := range old {
		if old[i].used {
			*t.find(old[i].id) = old[i]
		}
	}
}
