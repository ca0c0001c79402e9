package policytest

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Named is what came of a file, and its name.
type Named struct {
	File string
	*Result
}

// The elements of a JUnit report that its readers agree on (github.com/testmoapp/junitxml).
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"` // in seconds
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string         `xml:"name,attr"`
		Classname string         `xml:"classname,attr"`
		File      string         `xml:"file,attr"`
		Line      int            `xml:"line,attr"`
		Time      string         `xml:"time,attr"`
		Failures  []junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes results as JUnit XML. why is the explanation of a failure in words.
func WriteJUnit(out io.Writer, results []Named, why func(Failure) string) error {
	var report junitSuites
	for _, r := range results {
		suite := junitSuite{Name: r.File, Tests: len(r.Tests), Failures: r.Failed}
		var elapsed time.Duration
		for _, t := range r.Tests {
			elapsed += t.Elapsed
			c := junitCase{Name: t.Name, Classname: r.File, File: r.File, Line: t.Line, Time: seconds(t.Elapsed)}
			for _, f := range t.Failures {
				c.Failures = append(c.Failures, junitFailure{
					Message: fmt.Sprintf("%s:%d: step %d, at %s: %s: expected %s, seen %s", r.File, f.Line, f.Step, f.At, f.Request, f.Expected, f.Seen),
					Text:    why(f),
				})
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Time = seconds(elapsed)
		report.Tests += suite.Tests
		report.Failures += suite.Failures
		report.Suites = append(report.Suites, suite)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
