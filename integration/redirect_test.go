package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func redirectedPolicy(timeout string) string {
	return `{"redis": {"cluster": "scripted_routelimit", "timeout": "` + timeout + `"},
		"identities": {"caller": {"from": "header:x-caller"}},
		"routes": {"GET /a": {"identity": "caller", "limit": 10, "window": "1m", "on_error": "closed"}}, "default": null}`
}

// redirected and redirectedBriefly are listeners whose Redis is played by the test.
var (
	redirected        = listen("redirected", redirectedPolicy("5s"))
	redirectedBriefly = listen("redirected_briefly", redirectedPolicy("200ms"))
)

// TestG25_RedirectionsAsEnvoyFollowsThem sends a question to a node that redirects it, through Envoy's redis_proxy as it
// ships. Where the question is decided in the end it was carried out once; elsewhere it goes by the route's on_error.
func TestG25_RedirectionsAsEnvoyFollowsThem(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, redirected, "")
	a, b := scriptedNodes[0], scriptedNodes[1]
	nobody := "127.0.0.1:1" // where nothing listens
	moved := always("-MOVED 3999 " + b.addr())
	asked := always("-ASK 3999 " + b.addr())
	for name, tt := range map[string]struct {
		a, b func([]string) string
		kind string // of the failure; "": it passes
		seen string // by each node
	}{
		"none":  {admits, nil, "", "[EVALSHA] []"},
		"MOVED": {moved, admits, "", "[EVALSHA] [EVALSHA]"},
		"ASK":   {asked, admits, "", "[EVALSHA] [ASKING EVALSHA]"},

		"MOVED to a node that knows no script":   {moved, knowsNoScript, "", "[EVALSHA EVAL] [EVALSHA EVAL]"},
		"ASK to a node that knows no script":     {asked, knowsNoScript, "", "[EVALSHA EVAL] [ASKING EVALSHA ASKING EVAL]"},
		"MOVED to one that never knows a script": {moved, always("-NOSCRIPT No matching script."), "noscript", "[EVALSHA EVAL] [EVALSHA EVAL]"},

		"MOVED twice, the second time to nobody": {moved, always("-MOVED 3999 " + nobody), "upstream_failure", "[EVALSHA] [EVALSHA]"},
		"MOVED to nobody":                        {always("-MOVED 3999 " + nobody), nil, "upstream_failure", "[EVALSHA] []"},
		"ASK to nobody":                          {always("-ASK 3999 " + nobody), nil, "upstream_failure", "[EVALSHA] []"},
		"MOVED to an empty host":                 {always("-MOVED 3999 :6379"), nil, "moved", "[EVALSHA] []"},
		"ASK to an empty host":                   {always("-ASK 3999 :6379"), nil, "ask", "[EVALSHA] []"},
		"MOVED to a host by its name":            {always("-MOVED 3999 no-such-host.invalid:6379"), nil, "moved", "[EVALSHA] []"},
		"MOVED without a port":                   {always("-MOVED 3999 127.0.0.1"), nil, "moved", "[EVALSHA] []"},
		"MOVED to a port that is none":           {always("-MOVED 3999 127.0.0.1:99999"), nil, "moved", "[EVALSHA] []"},
		"MOVED to nowhere":                       {always("-MOVED"), nil, "moved", "[EVALSHA] []"},
		"TRYAGAIN":                               {always("-TRYAGAIN Multiple keys request during rehashing of slot"), nil, "tryagain", "[EVALSHA] []"},
	} {
		caller := hashed(name)
		a.play(caller, tt.a)
		b.play(caller, tt.b)
		failures := total(t, e, failuresOf(tt.kind))
		got := c.get("/a", "x-caller", caller)
		if tt.kind == "" {
			if err := decided(got); err != nil || got.status != http.StatusOK {
				t.Errorf("%s: status %d, %v", name, got.status, err)
			}
		} else {
			checkUnavailable(t, got)
			if n := total(t, e, failuresOf(tt.kind)) - failures; n != 1 {
				t.Errorf("%s: counted %d as %s, want 1", name, n, tt.kind)
			}
		}
		if seen := fmt.Sprint(a.calls(caller), " ", b.calls(caller)); seen != tt.seen {
			t.Errorf("%s: the nodes saw %s, want %s", name, seen, tt.seen)
		}
	}
}

func failuresOf(kind string) string { return `routelimit_failures_total{kind="` + kind + `"}` }

// TestG25_RedirectionsWithoutEnd has two nodes send a question to each other for ever. Envoy follows them, and meanwhile
// answers nothing else on that stream. The deadline ends the wait; after five of them without any answer the module gives up
// the stream, which ends the following, and everybody else is decided again.
func TestG25_RedirectionsWithoutEnd(t *testing.T) {
	e := fresh(t)
	a, b := scriptedNodes[0], scriptedNodes[1]
	c := dial(t, e, redirectedBriefly, "")
	a.play("other", admits)
	eventually(t, "a question is decided", func() error { return decided(c.get("/a", "x-caller", "other")) })
	a.play("loop", always("-MOVED 3999 "+b.addr()))
	b.play("loop", always("-MOVED 3999 "+a.addr()))

	began := time.Now()
	got := c.get("/a", "x-caller", "loop")
	checkUnavailable(t, got)
	checkInTimeOf(t, got, 200*time.Millisecond)
	eventually(t, "others are decided", func() error { return decided(c.get("/a", "x-caller", "other")) })
	took := time.Since(began)
	hops := func() int { return len(a.calls("loop")) + len(b.calls("loop")) }
	followed := hops()
	t.Logf("%d redirections, and others decided after %v", followed, took)
	if followed < 10 {
		t.Errorf("%d redirections were followed: nothing was tested", followed)
	}
	if a := c.get("/a", "x-caller", "other"); a.status != http.StatusOK {
		t.Errorf("status %d %s", a.status, a.body)
	}
	if n := hops() - followed; n > 1 {
		t.Errorf("%d more redirections were followed after the stream was given up", n)
	}
}

// checkInTimeOf finds that an answer came at a deadline, and not much later.
func checkInTimeOf(t *testing.T, a answer, deadline time.Duration) {
	t.Helper()
	if a.took < deadline || a.took > deadline+slowestAnswer {
		t.Errorf("answered after %v, want %v", a.took, deadline)
	}
}
