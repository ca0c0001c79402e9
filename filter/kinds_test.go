//go:build !wasip1

package main_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"routelimit/filter/link"
	"routelimit/resp"
)

// failureKinds are all kinds under which requests fail to be decided.
func failureKinds() (kinds []string) {
	for _, f := range resp.Failures() {
		kinds = append(kinds, f.String())
	}
	for f := link.Timeout; f <= link.Panicked; f++ {
		kinds = append(kinds, f.String())
	}
	return kinds
}

// Each kind is counted for each request and logged once in 10 seconds, with the
// number of those left out.
func TestG26_EveryKindOfFailureIsCountedAndLogged(t *testing.T) {
	fail := map[string]func(t *testing.T) *rig{
		"timeout": func(t *testing.T) *rig {
			r := onScript(t, nil, unbroken(openAndClosed))
			r.failing(func() { r.clock.Advance(60 * ms) })
			return r
		},
		"disconnected": func(t *testing.T) *rig {
			r := onScript(t, nil, unbroken(openAndClosed))
			r.failing(func() { r.script.CloseAll(13, ""); r.clock.Advance(1100 * ms) })
			return r
		},
		"bad_reply": func(t *testing.T) *rig {
			r := onScript(t, always("+OK\r\n"), unbroken(openAndClosed))
			r.failing(func() { r.deliver(); r.clock.Advance(1100 * ms) })
			return r
		},
		"breaker_open": func(t *testing.T) *rig {
			r := onScript(t, nil, section(`"breaker": {"failures": 1, "max_delay": "1m"}`, openAndClosed))
			for range 12 { // until the back-off is long
				r.send("GET", "/open", "")
				r.script.CloseAll(13, "")
				r.clock.Advance(2 * time.Minute)
			}
			r.send("GET", "/open", "")
			r.script.CloseAll(13, "")
			r.failing(func() {})
			return r
		},
		"overload": func(t *testing.T) *rig {
			r := onScript(t, nil, openAndClosed)
			for range link.MaxQueued + 1 { // one is on its way
				r.send("GET", "/open", "")
			}
			r.failing(func() {})
			return r
		},
		"panic": func(t *testing.T) *rig {
			r := onInjected(t, nil, openAndClosed)
			r.failing(func() {
				r.plugin.SetProperty([]byte("tick"), "inject")
				r.clock.Advance(6 * ms)
				r.plugin.SetProperty(nil, "inject")
				r.clock.Advance(1100 * ms)
			})
			return r
		},
	}
	for _, f := range resp.Failures() {
		text, ok := errorTexts[f]
		if !ok {
			t.Fatalf("no reply of the kind %v", f)
		}
		fail[f.String()] = func(t *testing.T) *rig {
			r := onScript(t, always("-"+text+"\r\n"), openAndClosed)
			r.failing(r.deliver)
			return r
		}
	}
	for _, kind := range failureKinds() {
		t.Run(kind, func(t *testing.T) {
			if fail[kind] == nil {
				t.Fatal("it is not tested")
			}
			r := fail[kind](t)
			if got := r.failures(kind); got < 6 {
				t.Errorf("%d are counted, want one for each request", got)
			}
			line := "no decision: " + kind
			if n := r.logged(line); n != 1 {
				t.Errorf("%d lines within 10 s, want 1:\n%s", n, r.vm.LogText())
			}
		})
	}
}

// failing sends three requests to either kind of route, in less than 10 s, and
// wants each to go by on_error.
func (r *rig) failing(settle func()) {
	r.t.Helper()
	unsupported := false
	for range 3 {
		open := r.send("GET", "/open", "")
		settle()
		unsupported = unsupported || strings.Contains(open.Details(), "unsupported")
		if !unsupported {
			r.want("passed", open)
		} else {
			r.want("503", open)
		}
		closed := r.send("GET", "/closed", "")
		settle()
		r.want("503", closed)
	}
}

// errorTexts are replies of each kind as servers write them.
var errorTexts = map[resp.Failure]string{
	resp.Other:           "ERR something else",
	resp.NoScript:        "NOSCRIPT No matching script. Please use EVAL.",
	resp.ReadOnly:        "READONLY You can't write against a read only replica.",
	resp.Loading:         "LOADING Redis is loading the dataset in memory",
	resp.OOM:             "OOM command not allowed when used memory > 'maxmemory'.",
	resp.Misconf:         "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	resp.Busy:            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	resp.ClusterDown:     "CLUSTERDOWN Hash slot not served",
	resp.MasterDown:      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	resp.NoReplicas:      "NOREPLICAS Not enough good replicas to write.",
	resp.Moved:           "MOVED 3999 192.0.2.2:6379",
	resp.Ask:             "ASK 3999 192.0.2.3:6379",
	resp.TryAgain:        "TRYAGAIN Multiple keys request during rehashing of slot",
	resp.CrossSlot:       "CROSSSLOT Keys in request don't hash to the same slot",
	resp.Auth:            "NOAUTH Authentication required.",
	resp.MaxClients:      "ERR max number of clients reached",
	resp.UpstreamFailure: "upstream failure",
	resp.NoUpstreamHost:  "no upstream host",
	resp.Unsupported:     "ERR unknown command 'EVALSHA'",
}

// An operator who looks a kind or a metric up finds it.
func TestOperationsNamesEveryKindAndEveryMetric(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../docs/operations.md")
	_, failures, _ := strings.Cut(page, "\n## Failures\n")
	failures, _, _ = strings.Cut(failures, "\n## ")
	for _, kind := range failureKinds() {
		found := false
		for line := range strings.Lines(failures) {
			if cells := strings.Split(line, "|"); len(cells) > 4 && strings.Contains(cells[1], "`"+kind+"`") {
				found = true
			}
		}
		if !found {
			t.Errorf("the table of failures lacks %s", kind)
		}
	}
	names := regexp.MustCompile(`"(routelimit_[a-z_]+)"`).FindAllStringSubmatch(read("metrics.go"), -1)
	if len(names) < 15 {
		t.Fatalf("%d metrics", len(names))
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name[1]) {
			t.Errorf("the page lacks %s", name[1])
		}
	}
	for _, outcome := range regexp.MustCompile(`outcome[A-Z]\w+ += "([a-z_]+)"`).FindAllStringSubmatch(read("metrics.go"), -1) {
		if !strings.Contains(page, "`"+outcome[1]+"`") {
			t.Errorf("the page lacks the outcome %s", outcome[1])
		}
	}
}
