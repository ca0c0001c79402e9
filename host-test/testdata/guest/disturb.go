//go:build wasip1

package main

import (
	"runtime"
	"runtime/debug"
	"time"
)

// What makes life hard for a VM.

var (
	collecting bool // collect inside proxy_on_memory_allocate
	ballast    [][]byte
)

// allocated is called inside proxy_on_memory_allocate.
func allocated(int) {
	if collecting {
		runtime.GC()
	}
}

// disturb does one of these commands; false if it does not know it.
func (e *execution) disturb(command string, n int) bool {
	switch command {
	case "trap": // a nil map write outside any recover ends the runtime
		var m map[string]int
		m["x"] = n
	case "timer": // from then on every collection asks for poll_oneoff
		time.AfterFunc(time.Duration(n)*time.Second, func() {})
	case "collect": // from then on, inside proxy_on_memory_allocate
		collecting = n != 0
	case "gc":
		runtime.GC()
	case "grow": // n MiB
		for range n {
			ballast = append(ballast, make([]byte, 1<<20))
		}
	case "shrink":
		ballast = nil
		debug.FreeOSMemory()
	default:
		return false
	}
	return true
}
