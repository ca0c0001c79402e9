// Package recent holds what is known of the callers that came last: a map of a
// fixed size, in which a new key takes the place of the oldest. However many
// keys there are and whoever chooses them, each call takes the same short time,
// and what is in the map takes the same memory.
package recent

import (
	"bytes"
	"hash/maphash"
)

// Table is such a map. It takes its memory with the first Put.
type Table[V any] struct {
	size  int
	seed  maphash.Seed // nobody can choose keys that collide
	slots []slot[V]    // a ring, in the order in which keys came
	heads []int32      // for each hash, the first slot of its chain, from 1; 0: none
	next  int          // the slot that the next new key takes
}

// slot holds one key and its value.
type slot[V any] struct {
	hash  uint64
	key   []byte
	chain int32 // the next slot with the same head, from 1; 0: none
	used  bool
	value V
}

// New returns a table for so many keys.
func New[V any](size int) *Table[V] {
	return &Table[V]{size: size, seed: maphash.MakeSeed()}
}

// Find returns the value of a key, nil if there is none. It holds until the next
// Put.
func (t *Table[V]) Find(key []byte) *V {
	if t.slots == nil {
		return nil
	}
	return t.find(maphash.Bytes(t.seed, key), key)
}

func (t *Table[V]) find(hash uint64, key []byte) *V {
	for i := *t.head(hash); i != 0; {
		s := &t.slots[i-1]
		if s.hash == hash && bytes.Equal(s.key, key) {
			return &s.value
		}
		i = s.chain
	}
	return nil
}

// Oldest returns the value that the next new key takes the place of, nil if there
// is room.
func (t *Table[V]) Oldest() *V {
	if t.slots == nil || !t.slots[t.next].used {
		return nil
	}
	return &t.slots[t.next].value
}

// Skip lets the oldest key stay, as if it were the newest.
func (t *Table[V]) Skip() {
	if len(t.slots) > 0 {
		t.next = (t.next + 1) % len(t.slots)
	}
}

// Used is how many keys the table holds.
func (t *Table[V]) Used() int {
	if t.slots == nil || t.slots[t.next].used {
		return len(t.slots)
	}
	return t.next
}

// At returns one of the keys, by a number below Used, and its value. They hold until
// the next Put.
func (t *Table[V]) At(i int) (key []byte, value *V) { return t.slots[i].key, &t.slots[i].value }

// Put returns the value of a key. known is false for a new key: its value is then
// whatever the oldest left there, so that its memory can be used again.
func (t *Table[V]) Put(key []byte) (value *V, known bool) {
	t.allocate()
	hash := maphash.Bytes(t.seed, key)
	if v := t.find(hash, key); v != nil {
		return v, true
	}
	s := &t.slots[t.next]
	if s.used {
		t.unlink(s)
	}
	head := t.head(hash)
	s.hash, s.key, s.chain, s.used = hash, append(s.key[:0], key...), *head, true
	*head = int32(t.next + 1)
	t.next = (t.next + 1) % len(t.slots)
	return &s.value, false
}

// keyRoom is how long a key fits without memory of its own, in bytes.
const keyRoom = 64

func (t *Table[V]) allocate() {
	if t.slots != nil {
		return
	}
	t.slots = make([]slot[V], t.size)
	keys := make([]byte, keyRoom*t.size)
	for i := range t.slots {
		t.slots[i].key = keys[i*keyRoom : i*keyRoom : (i+1)*keyRoom]
	}
	heads := 1
	for heads < t.size {
		heads *= 2
	}
	t.heads = make([]int32, heads)
}

func (t *Table[V]) head(hash uint64) *int32 { return &t.heads[hash&uint64(len(t.heads)-1)] }

func (t *Table[V]) unlink(s *slot[V]) {
	at := t.head(s.hash)
	for &t.slots[*at-1] != s {
		at = &t.slots[*at-1].chain
	}
	*at = s.chain
}
