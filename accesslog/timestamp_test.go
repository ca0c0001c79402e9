package accesslog

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"2026-12-01T13:19:37.123Z":     "2026-12-01T13:19:37.123Z",
		"2026-12-01T13:19:37Z":         "2026-12-01T13:19:37Z",
		"2026-12-01 13:19:37,5+01:00":  "2026-12-01T12:19:37.5Z",
		"2026-12-01T13:19:37.1239999Z": "2026-12-01T13:19:37.123Z",
		"2024-02-29T00:00:00-0030":     "2024-02-29T00:30:00Z",
		"2016-12-31T23:59:60Z":         "2016-12-31T23:59:59Z",
		"01/Dec/2026:13:19:37 +0530":   "2026-12-01T07:49:37Z",
		"1796131177":                   "2026-12-01T13:19:37Z",
		"1796131177.0426":              "2026-12-01T13:19:37.043Z",
		"1796131177043":                "2026-12-01T13:19:37.043Z",
		"1796131177043000":             "2026-12-01T13:19:37.043Z",
		"1796131177043000000":          "2026-12-01T13:19:37.043Z",
		"1.796131177e9":                "2026-12-01T13:19:37Z",
	} {
		ms, ok := parseTime(text)
		if got := time.UnixMilli(ms).UTC().Format(time.RFC3339Nano); !ok || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "-", "x", "2026-12-01", "2026-12-01T13:19:37", "2026-13-01T13:19:37Z", "2026-02-29T13:19:37Z", "2026-04-31T00:00:00Z",
		"2026-12-01T24:00:00Z", "2026-12-01T13:60:00Z", "2026-12-01T13:19:61Z", "2026-12-01T13:19:37.Z", "2026-12-01T13:19:37+1:00",
		"2026-12-01T13:19:37Zx", "2026-12-01X13:19:37Z", "20a6-12-01T13:19:37Z", "01/Dez/2026:13:19:37 +0100", "01/ecJ/2026:13:19:37 +0100",
		"00/Dec/2026:13:19:37 +0100", "01/Dec/2026 13:19:37 +0100", "-5", "NaN", "Inf", "0x10", "1_000", "1e300", "12:00", "99999999999999999999999999",
	} {
		if ms, ok := parseTime(text); ok {
			t.Errorf("%q was read as %d", text, ms)
		}
	}
}

func TestAnyTimeIsReadAsTheLibraryReadsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "ms"))
		at = at.In(time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone")))
		for _, layout := range []string{"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05Z07:00", "02/Jan/2006:15:04:05 -0700"} {
			text := at.Format(layout)
			want, err := time.Parse(layout, text)
			if err != nil || want.Year() < 0 || len(text) > 30 {
				continue // beyond the year 9999
			}
			if got, ok := parseTime(text); !ok || got != want.UnixMilli() {
				t.Fatalf("%s: got %d, %v, want %d", text, got, ok, want.UnixMilli())
			}
		}
	})
}
