package accesslog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever stands in a log, reading it ends, and what comes out is whole.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "")
	}
	f.Add(`203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "a\x22\"\\"`+"\n", "combined")
	f.Add(`203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5`+"\n\x00\n", "common")
	f.Add("[1796130000] GET / 200\n[9] \" [\n", "text")
	f.Add(`{"time":1796130000,"method":"GET","path":"/","a":[{"b":null},1e5,true]}`, "json")
	f.Fuzz(func(t *testing.T, text, format string) {
		o := Options{Format: format, Now: present}
		if format == formatText {
			o.Fields = fields(t, "time=1", "method=2", "path=3", "status=4")
		}
		last := int64(0)
		logs, err := Read(t.Context(), []Input{{"1", strings.NewReader(text)}}, o, func(e *Entry) error {
			if e.TimeMS < max(last, earliest) || e.Method == "" || e.Path == "" || e.Status < 0 || e.Status > 999 || len(e.Values) != len(e.Layout.Sources) {
				t.Errorf("entry %+v", e)
			}
			last = e.TimeMS
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if l := logs[0]; l.Err == nil && l.Lines != l.Requests+l.Unreadable {
			t.Errorf("%d lines, %d requests, %d unreadable", l.Lines, l.Requests, l.Unreadable)
		}
	})
}

// The scanner takes the lines that the library takes for one object, and finds the
// same texts in them.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a":"x\u00e4\ud83d\ude00\udc00","b":{"c":[1,{"d":null}]}}`, `{"a":-0.5e+7}`, `{"a":01}`, `{"a":1.}`, `{"a":"\x"}`,
		`{"a":nul}`, `{"a":1,}`, `{"a" : [ ] , "b":{ } }`, `[]`, `{"a":"b"}x`, `{"b":{"c":"deep"},"a":"\/"}`, "{\"a\":\"\t\"}", `{"a":"\ud800"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n\r") {
			return // no line has them
		}
		o := object{text: text, paths: [][]string{{"a"}, {"b", "c"}}, values: make([]string, 2), seen: make([]bool, 2)}
		got := o.scan()
		want := json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimLeft(text, " \t"), "{")
		if got != want && strings.Count(text, "[")+strings.Count(text, "{") < maxDepth {
			t.Fatalf("got %v, want %v", got, want)
		}
		var members map[string]json.RawMessage
		if !got || strings.Count(text, `"`) > 4 || json.Unmarshal([]byte(text), &members) != nil {
			return // a key may occur twice
		}
		var value string
		if json.Unmarshal(members["a"], &value) == nil && string(members["a"]) != "null" && value != string([]rune(o.values[0])) {
			t.Errorf("got %q, want %q", o.values[0], value)
		}
	})
}
