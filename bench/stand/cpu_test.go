package stand

import (
	"os"
	"testing"
	"time"
)

func TestProcessorTimesAndMemoryAreRead(t *testing.T) {
	page := int64(os.Getpagesize())
	for _, c := range []struct {
		name, schedstat, statm string
		cpu                    time.Duration
		memory                 int64
		good                   bool
	}{
		{"as the kernel writes them", "526729 135891 2\n", "1200 300 90 5 0 100 0\n", 526729, 300 * page, true},
		{"cut off", "526729 135891", "1200", 0, 0, false},
		{"no numbers", "x 135891 2", "1200 x 90", 0, 0, false},
		{"empty", "", "", 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := parseSchedstat(c.schedstat); got != c.cpu || (err == nil) != c.good {
				t.Errorf("parseSchedstat = %v, %v; want %v, good: %v", got, err, c.cpu, c.good)
			}
			if got, err := parseStatm(c.statm); got != c.memory || (err == nil) != c.good {
				t.Errorf("parseStatm = %v, %v; want %v, good: %v", got, err, c.memory, c.good)
			}
		})
	}
}

func TestThisProcessHasUsedTimeAndMemory(t *testing.T) {
	cpu, err := CPUTime(os.Getpid())
	if err != nil || cpu <= 0 {
		t.Errorf("CPUTime = %v, %v", cpu, err)
	}
	if memory, err := Memory(os.Getpid()); err != nil || memory < 1<<20 {
		t.Errorf("Memory = %d, %v", memory, err)
	}
	// No process has this number.
	if got, err := CPUTime(1 << 30); err == nil {
		t.Errorf("CPUTime = %v of no process", got)
	}
}
