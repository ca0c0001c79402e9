package accesslog

import (
	"strconv"
	"strings"
	"time"
)

// parseTime reads a time in ms since the epoch: RFC 3339 (2026-12-01T13:19:37.123Z,
// also with a blank for the T), the Common Log Format's (01/Dec/2026:13:19:37 +0100),
// or a number since the epoch, in seconds, ms, µs or ns by its size.
func parseTime(text string) (ms int64, ok bool) {
	switch {
	case len(text) >= len("2006-01-02T15:04:05") && text[4] == '-':
		return parseRFC3339(text)
	case len(text) == len("02/Jan/2006:15:04:05 -0700") && text[2] == '/':
		return parseCommonTime(text)
	}
	return parseEpoch(text)
}

func parseRFC3339(text string) (int64, bool) {
	year, ok1 := digits(text[0:4])
	month, ok2 := digits(text[5:7])
	day, ok3 := digits(text[8:10])
	clock, ok4 := parseClock(text[11:19])
	if !ok1 || !ok2 || !ok3 || !ok4 || text[7] != '-' || text[10] != 'T' && text[10] != ' ' {
		return 0, false
	}
	rest := text[19:]
	var fraction int64
	if rest != "" && (rest[0] == '.' || rest[0] == ',') {
		n := 1
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		if n == 1 {
			return 0, false
		}
		fraction, _ = digits((rest[1:n] + "00")[:3])
		rest = rest[n:]
	}
	offset, ok := parseOffset(rest)
	at, valid := date(year, month, day)
	return at + clock + fraction - offset, ok && valid
}

func parseCommonTime(text string) (int64, bool) {
	day, ok1 := digits(text[0:2])
	year, ok2 := digits(text[7:11])
	clock, ok3 := parseClock(text[12:20])
	offset, ok4 := parseOffset(text[21:])
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", text[3:6])
	if !ok1 || !ok2 || !ok3 || !ok4 || month < 0 || month%3 != 0 || text[6] != '/' || text[11] != ':' || text[20] != ' ' {
		return 0, false
	}
	at, valid := date(year, int64(month/3+1), day)
	return at + clock - offset, valid
}

// parseClock reads 13:19:37. A leap second is the one before it.
func parseClock(text string) (ms int64, ok bool) {
	hour, ok1 := digits(text[0:2])
	minute, ok2 := digits(text[3:5])
	second, ok3 := digits(text[6:8])
	if !ok1 || !ok2 || !ok3 || text[2] != ':' || text[5] != ':' || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	return ((hour*60+minute)*60 + min(second, 59)) * 1000, true
}

// parseOffset reads Z, +01:00 or +0100.
func parseOffset(text string) (ms int64, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) == 6 && text[3] == ':' {
		text = text[:3] + text[4:]
	}
	if len(text) != 5 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hours, ok1 := digits(text[1:3])
	minutes, ok2 := digits(text[3:5])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 {
		return 0, false
	}
	ms = (hours*60 + minutes) * 60_000
	if text[0] == '-' {
		ms = -ms
	}
	return ms, true
}

// date is the start of a day in ms since the epoch (Howard Hinnant, "chrono-Compatible
// Low-Level Date Algorithms", days_from_civil).
func date(year, month, day int64) (ms int64, ok bool) {
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	yearOfEra := year % 400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return (era*146097 + dayOfEra - 719468) * 86_400_000, true
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// digits reads a short text of digits alone.
func digits(text string) (n int64, ok bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, text != ""
}

func parseEpoch(text string) (ms int64, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n != n || !isDecimal(text) {
		return 0, false
	}
	switch {
	case n < 1e11:
		n *= 1e3 // seconds
	case n < 1e14:
	case n < 1e17:
		n /= 1e3
	default:
		n /= 1e6
	}
	if n > 1e14 {
		return 0, false
	}
	return int64(n + 0.5), true
}

// isDecimal keeps out what ParseFloat takes besides: hexadecimal, inf, underscores.
func isDecimal(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && !strings.ContainsRune(".eE+-", r) })
}

// earliest is before any log that somebody would still replay.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// ahead is how far in the future a line may lie, for clocks that disagree.
const ahead = 24 * time.Hour
