package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const events = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"a says\n"}
{"Action":"pass","Test":"TestA/one"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"b says\n"}
{"Action":"fail","Test":"TestB/one"}
{"Action":"fail","Test":"TestB"}
{"Action":"output","Output":"FAIL\n"}
{"Action":"fail"}
`

func TestResultsAreThoseOfTheEvents(t *testing.T) {
	r := read(strings.NewReader(events))
	want := result{passed: []string{"TestA"}, failed: []string{"TestB"}, output: "b says\nFAIL\n"}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(result{})); diff != "" || r.ok() {
		t.Errorf("ok %v %s", r.ok(), diff)
	}
	if r := read(strings.NewReader("")); r.ok() {
		t.Error("nothing ran, and that is well")
	}
	var out strings.Builder
	r.version = "1.2.3"
	print(&out, []result{r})
	const text = "Envoy 1.2.3:\nb says\nFAIL\n\nEnvoy  passed  failed  seconds  \n1.2.3  1       1       0        TestB\n"
	if diff := cmp.Diff(text, out.String()); diff != "" {
		t.Error(diff)
	}
}
