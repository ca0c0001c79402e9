package recent

import (
	"encoding/binary"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// A table is a map that forgets all but the keys that came last.
func TestTableIsAMapOfTheLastKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		table := New[int](size)
		var order []string
		values := map[string]int{}
		for i := range rapid.IntRange(1, 100).Draw(t, "calls") {
			key := fmt.Sprint("k", rapid.IntRange(0, 15).Draw(t, "key"))
			_, want := values[key]
			if len(order) == size && rapid.Bool().Draw(t, "skip") {
				table.Skip()
				order = append(order[1:], order[0])
			}
			v, known := table.Put([]byte(key))
			if known != want {
				t.Fatalf("call %d: %s is known: %v, want %v", i, key, known, want)
			}
			*v = i
			values[key] = i
			if !want {
				order = append(order, key)
			}
			if len(order) > size {
				delete(values, order[0])
				order = order[1:]
			}
			for n := range 16 {
				key := fmt.Sprint("k", n)
				want, ok := values[key]
				got := table.Find([]byte(key))
				if (got != nil) != ok || ok && *got != want {
					t.Fatalf("call %d: %s is %v, want %d (%v)", i, key, got, want, ok)
				}
			}
			held := map[string]int{}
			for n := range table.Used() {
				key, v := table.At(n)
				held[string(key)] = *v
			}
			if !maps.Equal(held, values) {
				t.Fatalf("call %d: the table holds %v, want %v", i, held, values)
			}
			oldest := table.Oldest()
			if full := len(order) == size; (oldest != nil) != full || full && *oldest != values[order[0]] {
				t.Fatalf("call %d: the oldest of %v is %v", i, order, oldest)
			}
		}
	})
}

func TestAnEmptyTableHasNoMemory(t *testing.T) {
	table := New[int](1 << 20)
	if table.Find([]byte("k")) != nil || table.Oldest() != nil || table.slots != nil {
		t.Error("there is something in it")
	}
}

// A flood of new keys allocates nothing once the table stands.
func TestG38_AFloodAllocatesNothing(t *testing.T) {
	table := New[[4]int64](1024)
	var key [keyRoom]byte
	n := uint64(0)
	put := func() {
		n++
		binary.LittleEndian.PutUint64(key[:], n)
		table.Put(key[:])
	}
	put()
	if got := testing.AllocsPerRun(10_000, put); got != 0 {
		t.Errorf("%v allocations for each key", got)
	}
	if len(table.slots) != 1024 {
		t.Errorf("%d slots", len(table.slots))
	}
	longest := 0
	for _, i := range table.heads {
		chain := 0
		for ; i != 0; i = table.slots[i-1].chain {
			chain++
		}
		longest = max(longest, chain)
	}
	if longest > 12 {
		t.Errorf("a chain of %d slots", longest)
	}
}

func BenchmarkFindNothing(b *testing.B) {
	table := New[int](8192)
	for i := range 8192 {
		table.Put(fmt.Appendf(nil, "rl:{GET:/a|ip:198.51.100.%d}", i))
	}
	key := []byte("rl:{GET:/a|ip:203.0.113.7}")
	for b.Loop() {
		table.Find(key)
	}
}
