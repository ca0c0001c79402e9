package accesslog

import (
	"strings"
	"testing"
	"time"
)

// present is later than all times of the tests.
var present = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)

// read reads texts as logs called "1", "2", … and returns their entries, each as it
// was when it was played.
func read(t *testing.T, o Options, texts ...string) ([]Entry, []*Log) {
	t.Helper()
	var inputs []Input
	for i, text := range texts {
		inputs = append(inputs, Input{Name: string(rune('1' + i)), Reader: strings.NewReader(text)})
	}
	if o.Now.IsZero() {
		o.Now = present
	}
	var entries []Entry
	logs, err := Read(t.Context(), inputs, o, func(e *Entry) error {
		entries = append(entries, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i].TimeMS < entries[i-1].TimeMS {
			t.Fatalf("entry %d is at %d, behind one at %d", i, entries[i].TimeMS, entries[i-1].TimeMS)
		}
	}
	return entries, logs
}

func fields(t *testing.T, texts ...string) []Field {
	t.Helper()
	var all []Field
	for _, text := range texts {
		f, err := ParseField(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// brief is an entry as text: time, method, path, host, client, forwarded-for, status.
func brief(e Entry) string {
	at := time.UnixMilli(e.TimeMS).UTC().Format("01-02T15:04:05.000")
	return strings.Join([]string{at, e.Method, e.Path, e.Host, e.Client, e.ForwardedFor, status(e.Status), strings.Join(e.Values, ";")}, "|")
}

func status(n int) string {
	if n == 0 {
		return "-"
	}
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func briefs(entries []Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, brief(e))
	}
	return all
}
