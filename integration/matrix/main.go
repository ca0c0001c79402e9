// Matrix runs the integration tests on every Envoy that can be fetched, one
// after the other, and prints what came of them. Arguments go to go test.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"routelimit/servers"
)

func main() {
	var results []result
	for _, version := range servers.EnvoyVersions() {
		fmt.Fprintf(os.Stderr, "Envoy %s …\n", version)
		results = append(results, run(version, os.Args[1:]))
	}
	print(os.Stdout, results)
	if slices.ContainsFunc(results, func(r result) bool { return !r.ok() }) {
		os.Exit(1)
	}
}

// result is what the tests said of one Envoy.
type result struct {
	version        string
	passed, failed []string
	took           time.Duration
	err            error  // of go test as a whole
	output         string // of failed tests
}

func (r result) ok() bool { return r.err == nil && len(r.failed) == 0 && len(r.passed) > 0 }

func run(version string, args []string) result {
	began := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=20m", "./integration"}, args...)...)
	cmd.Env = append(os.Environ(), "ENVOY_VERSION="+version)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return result{version: version, err: err}
	}
	r := read(events)
	r.version, r.err, r.took = version, cmd.Wait(), time.Since(began)
	return r
}

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Test, Output string
}

// read counts the tests that came to an end, without their subtests.
func read(events io.Reader) result {
	var r result
	output := map[string]string{}
	for decoder := json.NewDecoder(events); ; {
		var e event
		if decoder.Decode(&e) != nil {
			return r // the end, or what go test itself says of its failure
		}
		top := e.Test != "" && !slices.Contains([]byte(e.Test), '/')
		switch {
		case e.Action == "output":
			output[e.Test] += e.Output
		case e.Action == "pass" && top:
			r.passed = append(r.passed, e.Test)
		case e.Action == "fail" && top:
			r.failed = append(r.failed, e.Test)
			r.output += output[e.Test]
		case e.Action == "fail" && e.Test == "":
			r.output += output[""]
		}
	}
}

func print(out io.Writer, results []result) {
	for _, r := range results {
		if !r.ok() {
			fmt.Fprintf(out, "Envoy %s:\n%s\n", r.version, r.output)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "Envoy\tpassed\tfailed\tseconds\t")
	for _, r := range results {
		why := strings.Join(r.failed, " ")
		if why == "" && r.err != nil {
			why = r.err.Error()
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t%s\n", r.version, len(r.passed), len(r.failed), r.took.Seconds(), why)
	}
	table.Flush()
}
