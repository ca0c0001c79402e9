//go:build !wasip1

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
	"routelimit/limit"
)

// openAndClosed has a route of each kind of on_error.
const openAndClosed = `{"routes": {
	"GET /open":   {"identity": "ip", "limit": 5, "window": "1m"},
	"GET /closed": {"identity": "ip", "limit": 5, "window": "1m", "on_error": "closed"}}, "default": null}`

// wantUnavailable fails the test unless s got the answer of a route that is closed.
func (r *rig) wantUnavailable(s *hosttest.Stream, kind string) {
	r.t.Helper()
	r.want("503", s, kind)
	h := s.Client().Headers
	if h.Get("retry-after") != "5" || h.Get("cache-control") != "no-store" || h.Get("content-type") != jsonType {
		r.t.Errorf("headers %v", h)
	}
	if got, want := string(s.Client().Body), `{"error":"rate_limiter_unavailable"}`; got != want {
		r.t.Errorf("body %s, want %s", got, want)
	}
	if got, want := s.Details(), "routelimit_unavailable{"+kind+"}"; got != want {
		r.t.Errorf("details %s, want %s", got, want)
	}
	if got := s.FilterState()["wasm.routelimit.outcome"]; got != "unavailable" {
		r.t.Errorf("filter state %q, want unavailable", got)
	}
}

// wantOpen fails the test unless s passed, marked, without quota headers.
func (r *rig) wantOpen(s *hosttest.Stream) {
	r.t.Helper()
	r.want("passed", s)
	if got := s.FilterState()["wasm.routelimit.outcome"]; got != "open" {
		r.t.Errorf("filter state %q, want open", got)
	}
	respond(s, "200")
	for _, line := range s.Client().Headers {
		if strings.HasPrefix(line[0], "x-ratelimit") {
			r.t.Errorf("%v, though Redis has not said it", line)
		}
	}
}

// wantFailure sends a request to each route, lets settle settle it, and wants
// both to go by on_error, counted and logged as that kind.
func (r *rig) wantFailure(kind string, settle func()) {
	r.t.Helper()
	closed := r.send("GET", "/closed", "")
	settle()
	r.wantUnavailable(closed, kind)
	r.clock.Advance(2 * time.Second) // past any back-off
	open := r.send("GET", "/open", "")
	settle()
	r.wantOpen(open)
	r.wantCounter(2, r.failures(kind), kind)
	r.wantCounter(1, r.requests("GET:/closed", "", "unavailable"), "unavailable")
	r.wantCounter(1, r.requests("GET:/open", "", "open"), "open")
	if n := r.logged("no decision: " + kind); n != 1 {
		r.t.Errorf("%d log lines of %s, want 1 within seconds", n, kind)
	}
}

func TestG22_G24_G26_G27_ErrorRepliesGoByOnError(t *testing.T) {
	for kind, replies := range map[string][]string{
		"readonly": {"READONLY You can't write against a read only replica.",
			"ERR Error running script (call to f_8b39): @user_script:5: @user_script: 5: -READONLY You can't write against a read only replica.",
			"READONLY You can't write against a read only replica. script: 8b39, on @user_script:190."},
		"loading":          {"LOADING Redis is loading the dataset in memory"},
		"oom":              {"OOM command not allowed when used memory > 'maxmemory'.", "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'."},
		"misconf":          {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."},
		"busy":             {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
		"clusterdown":      {"CLUSTERDOWN The cluster is down", "CLUSTERDOWN Hash slot not served"},
		"masterdown":       {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
		"noreplicas":       {"NOREPLICAS Not enough good replicas to write."},
		"moved":            {"MOVED 3999 192.0.2.2:6379"},
		"ask":              {"ASK 3999 192.0.2.3:6379"},
		"tryagain":         {"TRYAGAIN Multiple keys request during rehashing of slot"},
		"crossslot":        {"CROSSSLOT Keys in request don't hash to the same slot"},
		"auth":             {"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair or user is disabled.", "NOPERM this user has no permissions to run the 'evalsha' command"},
		"maxclients":       {"ERR max number of clients reached"},
		"upstream_failure": {"upstream failure"},
		"no_upstream_host": {"no upstream host"},
		"other":            {"", "ERR", "what is this"},
	} {
		for _, text := range replies {
			t.Run(kind+"/"+text, func(t *testing.T) {
				r := onScript(t, always("-"+text+"\r\n"), openAndClosed)
				r.wantFailure(kind, r.deliver)
				want := 1
				if kind == "readonly" {
					want = 0 // it is renewed; see TestG26
				}
				if got := len(r.script.Streams()); got != want {
					t.Errorf("%d streams are open, want %d: an error reply to one key is no broken link", got, want)
				}
				// Nothing is left of it when Redis is well again.
				r.script.Reply = allow
				r.want("passed", r.get("/closed"))
			})
		}
	}
}

func TestG22_G24_RepliesThatMakeNoSenseGoByOnError(t *testing.T) {
	allowed := string(packed(1, scriptedTimeMS, 1, 4, 1000, 0))
	for name, reply := range map[string]string{
		"a text":                 "+OK\r\n",
		"a number":               ":1\r\n",
		"a bulk string":          "$1\r\n1\r\n",
		"null":                   "$-1\r\n",
		"a null array":           "*-1\r\n",
		"an empty array":         "*0\r\n",
		"cut short by a nil":     "*1\r\n:1\r\n",
		"a number too few":       string(packed(1, scriptedTimeMS, 1, 4, 1000)),
		"a number too many":      string(packed(1, scriptedTimeMS, 1, 4, 1000, 0, 0)),
		"two limits' verdicts":   string(packed(1, scriptedTimeMS, 1, 4, 1000, 0, 1, 4, 1000, 0)),
		"in an array":            "*1\r\n" + allowed,
		"integers":               "*6\r\n:1\r\n:1729771200000\r\n:1\r\n:4\r\n:1000\r\n:0\r\n",
		"remaining below 0":      string(packed(1, scriptedTimeMS, 1, -1, 1000, 0)),
		"more than the limit":    string(packed(1, scriptedTimeMS, 1, 6, 1000, 0)),
		"allowed 2":              string(packed(2, scriptedTimeMS, 1, 4, 1000, 0)),
		"allowed and refused":    string(packed(1, scriptedTimeMS, 0, 0, 1000, 1000)),
		"refused and allowed":    string(packed(0, scriptedTimeMS, 1, 4, 1000, 0)),
		"refused without a wait": string(packed(0, scriptedTimeMS, 0, 0, 1000, 0)),
		"a wait below -1":        string(packed(0, scriptedTimeMS, 0, 0, 1000, -2)),
		"a reset without end":    string(packed(1, scriptedTimeMS, 1, 4, 1<<56-1, 0)),
		"not RESP":               "HTTP/1.1 400 Bad Request\r\n\r\n",
		"garbage":                "\x00\xff\x80 \r\n",
		"a number too long":      ":99999999999999999999\r\n",
		"a length too long":      "$99999999999\r\n",
		"an array too deep":      strings.Repeat("*1\r\n", 50) + ":1\r\n",
		"too large":              "$70000\r\n" + strings.Repeat("x", 70000) + "\r\n",
		"a surplus reply":        allowed + allowed,
		"a surplus byte":         allowed + ":",
		"the next one's start":   allowed + "$30\r\n\x01",
		"RESP3":                  "%1\r\n+a\r\n:1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, always(reply), openAndClosed)
			r.wantFailure("bad_reply", r.deliver)
			if got := len(r.script.Streams()); got != 0 {
				t.Errorf("%d streams are open; replies out of step must end the stream", got)
			}
			if n := r.logged("-2"); strings.Contains(name, "below -1") && n == 0 {
				t.Errorf("the log does not say what was wrong:\n%s", r.vm.LogText())
			}
			r.clock.Advance(2 * time.Second)
			r.script.Reply = allow
			r.want("passed", r.get("/closed"), "on a new stream")
		})
	}
}

// A reply that is not asked for would shift every later one.
func TestAnUnaskedReplyEndsTheStream(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	r.want("passed", r.get("/closed"))
	if err := r.script.Stream().Deliver(packed(0, scriptedTimeMS, 0, 0, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if len(r.script.Streams()) != 0 {
		t.Fatal("the stream is still open")
	}
	r.clock.Advance(2 * time.Second)
	r.want("passed", r.get("/closed"))
}

func TestRepliesCutAtEveryByte(t *testing.T) {
	r := onScript(t, nil, asking(openAndClosed))
	for name, reply := range map[string]struct {
		bytes string
		fate  string
	}{
		"allowed": {string(packed(1, scriptedTimeMS, 1, 4, 1000, 0)), "passed"},
		"refused": {string(packed(0, scriptedTimeMS, 0, 0, 1000, 12000)), "429"},
		"error":   {"-OOM command not allowed\r\n", "503"},
	} {
		r.script.Reply = always(reply.bytes)
		for cut := 1; cut < len(reply.bytes); cut++ {
			s := r.send("GET", "/closed", "")
			for _, n := range []int{cut, len(reply.bytes)} {
				r.want("waiting", s, name, "cut at", cut)
				if _, err := r.script.DeliverBytes(n); err != nil {
					t.Fatal(err)
				}
			}
			r.want(reply.fate, s, name, "cut at", cut)
		}
	}
}

func TestG23_NoScriptIsSentAgainOnceWithTheScript(t *testing.T) {
	r := onScript(t, func(c [][]byte) []byte {
		if string(c[0]) == "EVALSHA" {
			return []byte("-NOSCRIPT No matching script. Please use EVAL.\r\n")
		}
		return allow(c)
	}, openAndClosed)
	s := r.get("/closed")
	r.want("passed", s)
	commands := r.script.Commands()
	if len(commands) != 2 {
		t.Fatalf("%d commands, want 2", len(commands))
	}
	want := append([][]byte{[]byte("EVAL"), []byte(limit.Scripts()[0].Text)}, commands[0][2:]...)
	if diff := cmp.Diff(want, commands[1]); diff != "" {
		t.Errorf("the second command differs from the first in more than the script: %s", diff)
	}
	r.wantCounter(1, r.counter("routelimit_script_resent_total"), "resent")
	r.wantCounter(0, r.failures("noscript"), "failures")
}

func TestG23_NoScriptForEverGoesByOnError(t *testing.T) {
	r := onScript(t, always("-NOSCRIPT No matching script. Please use EVAL.\r\n"), openAndClosed)
	r.wantFailure("noscript", r.deliver)
	if got := len(r.script.Commands()); got != 4 {
		t.Errorf("%d commands for two requests, want 4: never more than one resend", got)
	}
}

func TestG23_AFlushedScriptCacheCostsNobodyAnything(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 100, "window": "1m"`))
	for range 3 {
		if err := r.db.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		var all []*hosttest.Stream
		for range 20 {
			all = append(all, r.send("GET", "/a", ""))
		}
		r.deliver()
		for _, s := range all {
			r.want("passed", s)
		}
	}
	if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w60"); got != 60 {
		t.Errorf("%d count, want 60: each request once", got)
	}
}

func TestG23_ARefundSurvivesAFlushedScriptCache(t *testing.T) {
	r := onRedis(t, pairAndAccount("open", "1", "10"))
	r.want("passed", r.get("/a", "x-user", "u"))
	s := r.send("GET", "/a", "", "x-user", "u")
	if err := r.db.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.deliver()
	r.want("429", s)
	if got := r.count(allKey, "w60"); got != 1 {
		t.Errorf("all stands at %d, want 1", got)
	}
}

func TestTimeoutGoesByOnError(t *testing.T) {
	r := onScript(t, nil, openAndClosed)
	r.wantFailure("timeout", func() { r.clock.Advance(60 * ms) })
}

func TestClosedStreamGoesByOnError(t *testing.T) {
	for _, status := range []uint32{2, 13, 14} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			r := onScript(t, nil, openAndClosed)
			r.wantFailure("disconnected", func() {
				if err := r.script.CloseAll(status, "via_upstream \xff\n"); err != nil {
					t.Fatal(err)
				}
			})
			if n := r.logged("the stream to Redis has closed"); n != 1 {
				t.Errorf("%d log lines of the closed stream, want 1", n)
			}
		})
	}
}

// A reply that was cut off by the end of its stream is no start of the next
// stream's first.
func TestHalfAReplyDiesWithItsStream(t *testing.T) {
	r := onScript(t, allow, openAndClosed)
	s := r.send("GET", "/closed", "")
	if _, err := r.script.DeliverBytes(7); err != nil {
		t.Fatal(err)
	}
	if err := r.script.CloseAll(2, ""); err != nil {
		t.Fatal(err)
	}
	r.wantUnavailable(s, "disconnected")
	r.clock.Advance(2 * time.Second)
	r.want("passed", r.get("/closed"))
}

func TestG35_NoClusterAndNoHostGoByOnErrorWithinTheDeadline(t *testing.T) {
	for name, policy := range map[string]string{
		"unknown cluster": unbroken(section(`"redis": {"cluster": "nowhere"}`, openAndClosed)),
		"no host":         unbroken(openAndClosed),
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, policy)
			r.script.Refuse = true
			closed, open := r.send("GET", "/closed", ""), r.send("GET", "/open", "")
			r.clock.Advance(60 * ms)
			r.wantUnavailable(closed, "disconnected")
			r.wantOpen(open)
			r.clock.Advance(10 * time.Second)
			if opened := r.counter("routelimit_link_opened_total"); opened > 10 {
				t.Errorf("opened %d times for two requests", opened)
			}
			if r.plugin.TickPeriod() != 0 {
				t.Error("the tick goes on with nobody waiting")
			}
			if name == "no host" {
				r.script.Refuse = false
				r.want("passed", r.get("/closed"), "there is a host again")
			}
		})
	}
}

// G27: an outage writes a few lines a minute, each with a count of the others,
// however many routes and requests it hits.
func TestG27_AnOutageDoesNotFloodTheLog(t *testing.T) {
	var routes strings.Builder
	for i := range 50 {
		fmt.Fprintf(&routes, `"GET /r%d": {"identity": "ip", "limit": 5, "window": "1m", "on_error": "%s"},`, i, []string{"open", "closed"}[i%2])
	}
	r := onScript(t, always("-CLUSTERDOWN The cluster is down\r\n"), `{"routes": {`+strings.TrimSuffix(routes.String(), ",")+`}, "default": null}`)
	for range 60 {
		for i := range 50 {
			r.get(fmt.Sprint("/r", i))
		}
		r.clock.Advance(time.Second)
	}
	lines := r.vm.Logs(hosttest.LogWarn)
	if len(lines) > 20 || len(lines) < 6 {
		t.Errorf("%d lines in a minute of outage:\n%s", len(lines), r.vm.LogText())
	}
	if n := r.logged("more like this were not logged)"); n < 6 {
		t.Errorf("%d lines tell what was left out", n)
	}
	r.wantCounter(3000, r.failures("clusterdown"), "clusterdown")
}

func TestRefusalsAreLoggedAtABoundedRate(t *testing.T) {
	r := onScript(t, refuse, openAndClosed)
	for range 100 {
		r.want("429", r.get("/open"))
	}
	r.clock.Advance(time.Second)
	r.want("429", r.get("/open"))
	lines := r.vm.Logs(hosttest.LogInfo)
	if len(lines) != 21 {
		t.Fatalf("%d lines, want 20 and one a second later", len(lines))
	}
	want := `{"event":"rate_limited","route":"GET:/open","limit":"ip","key":"ip","quota":5,"window":"1m","identity":"ip:203.0.113.7"`
	if got := lines[0].Text; got != want+"}" {
		t.Errorf("line %s\nwant %s}", got, want)
	}
	if got := lines[20].Text; got != want+`,"left_out":80}` {
		t.Errorf("line %s\nwant %s,\"left_out\":80}", got, want)
	}
}

// An error reply may repeat the command, and with it the key.
func TestErrorTextsShowNoIdentityWhereNoneShallBeLogged(t *testing.T) {
	for _, how := range []string{"plain", "hashed", "none"} {
		t.Run(how, func(t *testing.T) {
			r := onScript(t, func(c [][]byte) []byte {
				return []byte("-ERR unknown command 'EVALSHA', with args beginning with: '1' '" + keyOf(c) + "'\r\n")
			}, strings.Replace(openAndClosed, "{", `{"log": {"identity": "`+how+`"},`, 1))
			r.get("/open")
			if got := r.logged("203.0.113.7") > 0; got != (how == "plain") {
				t.Errorf("the address is logged: %v\n%s", got, r.vm.LogText())
			}
			if r.logged("unknown command") != 1 {
				t.Errorf("the log does not say what Redis said:\n%s", r.vm.LogText())
			}
		})
	}
}
