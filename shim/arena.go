package shim

import "unsafe"

// arenaSize holds the answers of one callback: all headers of a usual request
// and some properties. What does not fit is allocated apart.
const arenaSize = 64 << 10

// arena serves the memory that the proxy asks for when a call returns bytes.
//
// The proxy asks from inside such a call, where Envoy up to 1.38 forbids the
// WASI functions that a garbage collection may reach. Serving from a fixed
// array starts no collection, and leaves no garbage behind.
type arena struct {
	fixed [arenaSize]byte
	used  int
	apart [][]byte // answers too large for fixed, kept until the callback ends
}

// alloc returns size bytes that stay valid until reset.
func (a *arena) alloc(size int) unsafe.Pointer {
	const align = 8
	start := (a.used + align - 1) &^ (align - 1)
	if size < 0 || size > arenaSize-start {
		return unsafe.Pointer(unsafe.SliceData(a.allocApart(max(size, 0))))
	}
	a.used = start + size
	return unsafe.Pointer(&a.fixed[min(start, arenaSize-1)])
}

func (a *arena) allocApart(size int) []byte {
	b := make([]byte, size, max(size, 1))
	a.apart = append(a.apart, b)
	return b
}

// reset ends the life of everything that alloc returned.
func (a *arena) reset() {
	a.used = 0
	if a.apart != nil {
		a.apart = nil
	}
}
