package policytest

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJUnitNamesEachTestAndWhatFailed(t *testing.T) {
	var b strings.Builder
	results := []Named{{File: "a.yaml", Result: &Result{Failed: 1, Tests: []TestResult{
		{Name: "well", Line: 3, Elapsed: 1500 * time.Microsecond},
		{Name: "<ill>", Line: 9, Failures: []Failure{{Line: 11, Step: 2, At: "5m", Request: "GET /", Expected: "200", Seen: "429"}}},
	}}}}
	if err := WriteJUnit(&b, results, func(Failure) string { return "why & how\x00" }); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	want := junitSuites{XMLName: xml.Name{Local: "testsuites"}, Tests: 2, Failures: 1, Suites: []junitSuite{{
		Name: "a.yaml", Tests: 2, Failures: 1, Time: "0.002", Cases: []junitCase{
			{Name: "well", Classname: "a.yaml", File: "a.yaml", Line: 3, Time: "0.002"},
			{Name: "<ill>", Classname: "a.yaml", File: "a.yaml", Line: 9, Time: "0.000", Failures: []junitFailure{
				{Message: "a.yaml:11: step 2, at 5m: GET /: expected 200, seen 429", Text: "why & how\ufffd"},
			}},
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, b.String())
	}
}
