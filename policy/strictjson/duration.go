package strictjson

import (
	"math"
	"strconv"
	"time"

	"routelimit/plainfmt"
)

var units = []struct {
	name string
	size time.Duration
}{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond},
}

// ParseDuration reads whole numbers with a unit of ms, s, m, h or d each:
// "50ms", "5m", "1h30m", "365d". It is not time.ParseDuration, which knows no
// days and takes fractions and signs.
func ParseDuration(text string) (time.Duration, error) {
	total := time.Duration(0)
	for rest := text; rest != "" || text == ""; {
		digits := leadingDigits(rest)
		if digits == 0 {
			return 0, plainfmt.Errorf(`%s is no duration; write whole numbers with a unit of ms, s, m, h or d, such as "60s" or "1m"`, quote(text))
		}
		count, err := strconv.ParseInt(rest[:digits], 10, 64)
		rest = rest[digits:]
		name := rest[:leadingLetters(rest)]
		rest = rest[len(name):]
		if name == "" {
			if rest == "" && total == 0 {
				return 0, plainfmt.Errorf(`%s has no unit; write a duration such as "%ss" or "1m"`, quote(text), cut(text))
			}
			return 0, plainfmt.Errorf(`%s has a number without a unit; write whole numbers with a unit of ms, s, m, h or d, such as "1h30m"`, quote(text))
		}
		size, ok := unitSize(name)
		if !ok {
			return 0, plainfmt.Errorf(`%s has the unit %s, which is unknown; write ms, s, m, h or d, such as "60s" or "1m"`, quote(text), quote(name))
		}
		if err != nil || count > int64((math.MaxInt64-total)/size) {
			return 0, plainfmt.Errorf(`%s is out of range; write a shorter duration`, quote(text))
		}
		total += time.Duration(count) * size
	}
	return total, nil
}

// FormatDuration writes a duration as ParseDuration reads it, in the largest
// unit that leaves a whole number: 5m, 90s, 1d. What is below a millisecond is
// left out.
func FormatDuration(d time.Duration) string {
	for _, unit := range units {
		if d >= unit.size && d%unit.size == 0 {
			return strconv.FormatInt(int64(d/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

func unitSize(name string) (time.Duration, bool) {
	for _, unit := range units {
		if unit.name == name {
			return unit.size, true
		}
	}
	return 0, false
}

func leadingLetters(text string) int {
	n := 0
	for n < len(text) && 'a' <= text[n]|0x20 && text[n]|0x20 <= 'z' {
		n++
	}
	return n
}
