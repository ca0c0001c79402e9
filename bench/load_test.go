package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrkText is what wrk itself writes before the line of wrk.lua.
const wrkText = `Running 1s test @ http://127.0.0.1:18999/measured
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   793.30us  389.01us   7.97ms   86.02%
    Req/Sec     2.48k   123.24     2.83k    90.00%
  2471 requests in 1.00s, 1.23MB read
Requests/sec:   2469.75
Transfer/sec:      1.22MB

`

func TestParseLoadReadsTheLineOfTheScript(t *testing.T) {
	got, err := parseLoad([]byte(wrkText + `{"requests":2471,"duration":1000506,"p50":755,"p90":1130,"p99":1624,"max":7967,` +
		`"connect":0,"read":0,"write":0,"status":0,"timeout":0}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := loadResult{Requests: 2471, Duration: 1000506, P50: 755, P90: 1130, P99: 1624, Max: 7967}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(loadResult{})); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestParseLoadRefusesWhatIsNoMeasurement(t *testing.T) {
	for _, c := range []struct{ name, out, want string }{
		{"nothing", "", "cannot be read"},
		{"wrk alone", wrkText, "cannot be read"},
		{"cut off", wrkText + `{"requests":2471,"dur`, "cannot be read"},
		{"another script", wrkText + `{"requests":2471,"duration":1,"rate":3}`, "cannot be read"},
		{"a fraction", wrkText + `{"requests":2471.5,"duration":1}`, "cannot be read"},
		{"nothing answered", wrkText + `{"requests":0,"duration":1000000}`, "no request"},
		{"no time", wrkText + `{"requests":1,"duration":0}`, "no request"},
		{"a status", wrkText + `{"requests":9,"duration":1,"status":3}`, "Status:3"},
		{"a timeout", wrkText + `{"requests":9,"duration":1,"timeout":1}`, "Timeout:1"},
		{"a refused connection", wrkText + `{"requests":9,"duration":1,"connect":1}`, "Connect:1"},
		{"a failed read", wrkText + `{"requests":9,"duration":1,"read":1}`, "Read:1"},
		{"a failed write", wrkText + `{"requests":9,"duration":1,"write":1}`, "Write:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parseLoad([]byte(c.out))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("parseLoad = %+v, %v; want an error with %q", r, err, c.want)
			}
		})
	}
}
