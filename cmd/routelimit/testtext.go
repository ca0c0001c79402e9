package main

import (
	"fmt"
	"io"
	"strings"

	"routelimit/policytest"
)

// printTests writes what came of files of tests for people, ending with a line that sums up.
func printTests(out io.Writer, results []policytest.Named, verbose bool) {
	p := paintFor(out)
	tests, failed, requests := 0, 0, 0
	for _, r := range results {
		for _, t := range r.Tests {
			if len(t.Failures) == 0 {
				if verbose {
					fmt.Fprintf(out, "ok    %s:%d: %s (%s)\n", r.File, t.Line, visible(t.Name), plural(t.Requests, "request"))
				}
				continue
			}
			fmt.Fprintf(out, "%s  %s:%d: %s\n", p.red("FAIL"), r.File, t.Line, visible(t.Name))
			for _, f := range t.Failures {
				printTestFailure(out, r.File, f)
			}
		}
		tests, failed, requests = tests+len(r.Tests), failed+r.Failed, requests+r.Requests
	}
	verdict := "all passed"
	if failed > 0 {
		verdict = p.red(fmt.Sprintf("%d failed", failed))
	}
	fmt.Fprintf(out, "%s, %s: %s\n", plural(tests, "test"), plural(requests, "request"), verdict)
}

func printTestFailure(out io.Writer, file string, f policytest.Failure) {
	fmt.Fprintf(out, "      %s:%d:%d: step %d, at %s: %s\n", file, f.Line, f.Column, f.Step, f.At, visible(f.Request))
	fmt.Fprintf(out, "      expected   %s\n", visible(f.Expected))
	fmt.Fprintf(out, "      seen       %s\n", visible(f.Seen))
	if why := whyText(f); why != "" {
		fmt.Fprintln(out, "      after it, by routelimit explain:")
		for line := range strings.Lines(why) {
			fmt.Fprint(out, strings.TrimRight("        "+line, " \n")+"\n")
		}
	}
}

// whyText is what the policy makes of the request, in words.
func whyText(f policytest.Failure) string {
	if f.Why == nil {
		return ""
	}
	var b strings.Builder
	printReport(&b, f.Why)
	return b.String()
}

// jsonFile is what came of a file as programs read it.
type jsonFile struct {
	File string `json:"file"`
	*policytest.Result
}

func jsonTests(results []policytest.Named) any {
	report := struct {
		Tests    int        `json:"tests"`
		Failed   int        `json:"failed"`
		Requests int        `json:"requests"`
		Files    []jsonFile `json:"files"`
	}{Files: []jsonFile{}}
	for _, r := range results {
		report.Tests += len(r.Tests)
		report.Failed += r.Failed
		report.Requests += r.Requests
		report.Files = append(report.Files, jsonFile{r.File, r.Result})
	}
	return report
}
