package stand

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime is the processor time that a process has used, with all its threads that still run, to the nanosecond where
// the kernel accounts for it so.
func CPUTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d shows no processor time in /proc; run on Linux, and see whether it ended", pid)
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // a thread that ended just now
		}
		if err != nil {
			return 0, fmt.Errorf("cannot read the processor time of a server: %w; see whether it ended", err)
		}
		one, err := parseSchedstat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += one
	}
	return sum, nil
}

// parseSchedstat reads the first of three numbers: nanoseconds on a processor (Documentation/scheduler/sched-stats.rst).
func parseSchedstat(text string) (time.Duration, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return 0, fmt.Errorf("%q is no schedstat; run on Linux", text)
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no schedstat: %w; run on Linux", text, err)
	}
	return time.Duration(ns), nil
}

// Memory is what of a process is in memory, in bytes.
func Memory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of a server: %w; run on Linux, and see whether it ended", err)
	}
	return parseStatm(string(text))
}

// parseStatm reads the second number, resident pages (proc_pid_statm(5)).
func parseStatm(text string) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%q is no statm; run on Linux", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no statm: %w; run on Linux", text, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
