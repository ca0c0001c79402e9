package hosttest

import (
	"bytes"
	"time"

	"routelimit/limit"
)

// numbersAt is where a script call of the plugin has its numbers, the time that the script shall count by first:
// EVALSHA sha 1 key numbers …, or EVAL script 1 key numbers ….
const numbersAt = 4

// putTime makes a script call count by a test's clock instead of Redis'.
func putTime(command [][]byte, now time.Time) {
	if len(command) <= numbersAt {
		return
	}
	if bytes.EqualFold(command[0], []byte("EVALSHA")) || bytes.EqualFold(command[0], []byte("EVAL")) {
		limit.SetTime(command[numbersAt], now.UnixMilli())
	}
}
