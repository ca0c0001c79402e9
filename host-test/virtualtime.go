package hosttest

import (
	"bytes"
	"strconv"
	"time"
)

// timeAt is where a script call of the plugin has the time that the script
// shall count by, with "0" for Redis' own:
// EVALSHA sha 1 key now …, or EVAL script 1 key now ….
const timeAt = 4

// putTime puts a time in place of that "0", in milliseconds since 1970.
func putTime(command [][]byte, now time.Time) {
	if len(command) <= timeAt || string(command[timeAt]) != "0" {
		return
	}
	if !bytes.EqualFold(command[0], []byte("EVALSHA")) && !bytes.EqualFold(command[0], []byte("EVAL")) {
		return
	}
	command[timeAt] = strconv.AppendInt(nil, now.UnixMilli(), 10)
}
