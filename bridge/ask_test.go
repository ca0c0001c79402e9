package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

func TestAScriptThatRedisDoesNotKnowIsSentOnce(t *testing.T) {
	f := startFake(t, func(command []string) string {
		switch {
		case strings.Contains(command[3], "never"), strings.EqualFold(command[0], "EVALSHA") && !strings.Contains(command[3], "known"):
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		case strings.EqualFold(command[0], "EVAL") && command[1] != decideScript.Text:
			return "-ERR another text\r\n"
		}
		return echo(command)
	})
	r := start(t, Store{Addrs: []string{f.addr()}})
	got := r.open().ask(append(append(decide("known"), decide("new")...), decide("never")...), 3)
	if diff := cmp.Diff([]string{keyOf("known"), keyOf("new"), "-NOSCRIPT No matching script. Please use EVAL."}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{"EVALSHA " + keyOf("known"), "EVALSHA " + keyOf("new"), "EVALSHA " + keyOf("never"), "EVAL " + keyOf("new"), "EVAL " + keyOf("never")}
	if diff := cmp.Diff(want, f.commands()); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsOfRedisReachTheModuleAsTheyAre(t *testing.T) {
	for text, kind := range map[string]resp.Failure{
		"READONLY You can't write against a read only replica.":                  resp.ReadOnly,
		"LOADING Redis is loading the dataset in memory":                         resp.Loading,
		"OOM command not allowed when used memory > 'maxmemory'.":                resp.OOM,
		"CLUSTERDOWN The cluster is down":                                        resp.ClusterDown,
		"MASTERDOWN Link with MASTER is down":                                    resp.MasterDown,
		"TRYAGAIN Multiple keys request during rehashing of slot":                resp.TryAgain,
		"NOREPLICAS Not enough good replicas to write.":                          resp.NoReplicas,
		"NOPERM this user has no permissions to run the 'evalsha' command":       resp.Auth,
		"BUSY Redis is busy running a script.":                                   resp.Busy,
		"MISCONF Redis is configured to save RDB snapshots":                      resp.Misconf,
		"ERR max number of clients reached":                                      resp.MaxClients,
		"MOVED 3999 127.0.0.1:6381":                                              resp.Moved, // one server follows nobody
		"ERR unknown command 'EVALSHA', with args beginning with: 'a' 'b' ":      resp.Unsupported,
		"ERR Error running script (call to f_a): @user_script:1: -OOM no memory": resp.OOM,
		"": resp.Other,
	} {
		for _, cluster := range []bool{false, true} {
			if cluster && kind == resp.Moved {
				continue // it is followed
			}
			var f *fakeRedis
			f = startFake(t, func(command []string) string {
				if strings.EqualFold(command[0], "CLUSTER") {
					return slotsOf(f.addr())
				}
				return "-" + text + "\r\n"
			})
			r := start(t, Store{Addrs: []string{f.addr()}, Cluster: cluster})
			got := r.open().ask(append(decide("a"), decide("b")...), 2)
			if diff := cmp.Diff([]string{"-" + text, "-" + text}, got); diff != "" {
				t.Error(diff)
			}
			if n := len(f.commands()); n != 2 {
				t.Errorf("%s: %d commands were sent, want each once", text, n)
			}
			if n := r.bridge.metrics.errors[kind].Load(); n != 2 {
				t.Errorf("%s: %d counted as %v", text, n, kind)
			}
		}
	}
}

// TestWhatGotNoAnswerIsNeverSentAgain cuts and silences: one error for each command, of the kind that redis_proxy has, and
// no second charge.
func TestWhatGotNoAnswerIsNeverSentAgain(t *testing.T) {
	for name, last := range map[string]string{"silence": "", "hang-up": "close"} {
		for _, cluster := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", Cluster ", cluster), func(t *testing.T) {
				var f *fakeRedis
				f = startFake(t, func(command []string) string {
					switch {
					case strings.EqualFold(command[0], "CLUSTER"):
						return slotsOf(f.addr())
					case strings.Contains(command[3], "answered"):
						return echo(command)
					}
					return last
				})
				r := start(t, Store{Addrs: []string{f.addr()}, Cluster: cluster}, func(o *Options) { o.Timeout = 100 * time.Millisecond })
				c := r.open()
				eventually(t, "the Cluster is known", func() bool { return c.ask(decide("answered"), 1)[0] == keyOf("answered") })
				before := len(f.commands())
				began := time.Now()
				got := c.ask(append(append(decide("answered"), decide("a")...), decide("b")...), 3)
				if took := time.Since(began); took > patience/2 {
					t.Errorf("it took %v", took)
				}
				if got[0] != keyOf("answered") || !isUpstreamFailure(got[1]) || !isUpstreamFailure(got[2]) {
					t.Errorf("replies %q", got)
				}
				time.Sleep(20 * time.Millisecond) // a second sending would come now
				if sent := f.commands()[before:]; len(sent) > 3 {
					t.Errorf("Redis saw %q", sent)
				}
				if diff := cmp.Diff([]string{keyOf("answered")}, c.ask(decide("answered"), 1)); diff != "" {
					t.Errorf("afterwards: %s", diff)
				}
			})
		}
	}
}

func isUpstreamFailure(reply string) bool {
	return strings.HasPrefix(reply, "-") && resp.ClassifyError([]byte(reply[1:])) == resp.UpstreamFailure
}

// slotsOf is what a node says that serves all slots.
func slotsOf(addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$" + fmt.Sprint(len(host)) + "\r\n" + host + "\r\n:" + port + "\r\n$1\r\nx\r\n"
}

func TestRedirectionsOfAClusterAreFollowed(t *testing.T) {
	var a, b *fakeRedis
	b = startFake(t, func(command []string) string {
		if strings.EqualFold(command[0], "CLUSTER") {
			return slotsOf(a.addr())
		}
		if strings.Contains(command[3], "loop") {
			return "-MOVED 1 " + a.addr() + "\r\n"
		}
		return echo(command)
	})
	a = startFake(t, func(command []string) string {
		switch {
		case strings.EqualFold(command[0], "CLUSTER"):
			return slotsOf(a.addr())
		case strings.Contains(command[3], "moved"), strings.Contains(command[3], "loop"):
			return "-MOVED 1 " + b.addr() + "\r\n"
		case strings.Contains(command[3], "ask"):
			return "-ASK 1 " + b.addr() + "\r\n"
		}
		return echo(command)
	})
	r := start(t, Store{Addrs: []string{a.addr()}, Cluster: true})
	c := r.open()
	got := c.ask(append(append(append(decide("here"), decide("moved")...), decide("ask")...), decide("loop")...), 4)
	if got[0] != keyOf("here") || got[1] != keyOf("moved") || got[2] != keyOf("ask") || !strings.HasPrefix(got[3], "-MOVED ") {
		t.Errorf("%q", got)
	}
	if n := strings.Count(strings.Join(a.commands(), ","), "here"); n != 1 {
		t.Errorf("what was answered at once was asked %d times", n)
	}
	if seen := strings.Join(b.commands(), ","); !strings.Contains(seen, "ASKING,EVALSHA "+keyOf("ask")) {
		t.Errorf("the other node saw %s", seen)
	}
}

// TestWhoIsNotLetInHearsWhy refuses AUTH, on a Cluster and on one server.
func TestWhoIsNotLetInHearsWhy(t *testing.T) {
	for _, cluster := range []bool{false, true} {
		var f *fakeRedis
		f = startFake(t, func(command []string) string {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		})
		r := start(t, Store{Addrs: []string{f.addr()}, Cluster: cluster, User: "app", Password: func() (string, error) { return "wrong", nil }})
		got := r.open().ask(append(decide("a"), decide("b")...), 2)
		for _, text := range got {
			if !strings.HasPrefix(text, "-WRONGPASS ") {
				t.Errorf("Cluster %v: %q", cluster, got)
			}
		}
		if n := len(f.commands()); n != 0 {
			t.Errorf("%d commands were sent", n)
		}
	}
}

func TestADeadRedisIsToldAtOnce(t *testing.T) {
	f := startFake(t, echo)
	f.listener.Close()
	r := start(t, Store{Addrs: []string{f.addr()}})
	if got := r.open().ask(decide("a"), 1); !isUpstreamFailure(got[0]) {
		t.Errorf("%q", got)
	}
}

func TestAnErrorIsOneLineAndBounded(t *testing.T) {
	if got := string(appendError(nil, "a\r\n+OK\r\nb")); got != "-a  +OK  b\r\n" {
		t.Errorf("%q", got)
	}
	if n := len(appendError(nil, strings.Repeat("x", 10_000))); n != longestError+3 {
		t.Errorf("%d bytes", n)
	}
}
