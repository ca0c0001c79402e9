package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuTime is the processor time that a process has used, with all its threads.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the processor time of a server: %w; run on Linux, and see whether it ended", err)
	}
	return parseStat(string(text))
}

// parseStat adds utime and stime, fields 14 and 15 of proc_pid_stat(5). The name in field 2 may hold anything, so fields
// are counted from its closing bracket.
func parseStat(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc has a line without processor times: %q; run on Linux", text)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc has a line without processor times: %w; run on Linux", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc has a line without processor times: %w; run on Linux", err)
	}
	return time.Duration(user+system) * clockTick, nil
}
