//go:build !wasip1

package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

const (
	formType = "application/x-www-form-urlencoded"

	aliceKey  = "rl:{POST:/login|username:alice}"
	unreadKey = "rl:{POST:/login|username:#unread}" // one bucket for every body that cannot be read
	ipKey     = "rl:{POST:/login|ip:203.0.113.7}"
)

// plainLogin counts logins by a username that shows in the key; settings come
// in front.
func plainLogin(settings string) string {
	return `{` + settings + `"identities": {"username": {"from": "body:username", "fold": true}},
		"routes": {"POST /login": {"identity": "username", "limit": 5, "window": "1m", "on_error": "closed"}}, "default": null}`
}

// begin sends the headers of a POST /login whose body is to come.
func (r *rig) begin(contentType string, lines ...string) *hosttest.Stream {
	s := r.plugin.NewStream()
	s.SetProperty([]byte(client), "source", "address")
	s.SendHeaders(hosttest.RequestHeaders("POST", "h", "/login", append([]string{"content-type", contentType}, lines...)...), false)
	return s
}

// askedKey is the key of the last decision that a scripted Redis was asked for.
func (r *rig) askedKey() string {
	r.t.Helper()
	commands := r.script.Commands()
	if len(commands) == 0 {
		r.t.Fatal("Redis was not asked")
	}
	return keyOf(commands[len(commands)-1])
}

// wantUpstream fails the test unless the upstream got the whole body.
func wantUpstream(t *testing.T, s *hosttest.Stream, body []byte) {
	t.Helper()
	if got := s.Upstream(); !bytes.Equal(got.Body, body) || !got.Ended {
		t.Fatalf("the upstream got %d bytes, ended %v; want all %d", len(got.Body), got.Ended, len(body))
	}
}

func TestG37_BodiesChunkedAtEveryByte(t *testing.T) {
	for contentType, body := range map[string]string{
		jsonType:                          `{"user":1,"username":" Alice","password":"x"}`,
		"application/json; charset=utf-8": `{"username":"alice"}`,
		"application/vnd.api+json":        `{"username":"\u0061LICE"}`,
		formType:                          "a=1&username=%41lice+&b=2",
	} {
		for _, generation := range []hosttest.Generation{hosttest.Old, hosttest.Current} {
			r := onScriptWith(t, hosttest.Options{Generation: generation}, allow, plainLogin(""))
			for cut := 1; cut < len(body); cut++ {
				s := r.begin(contentType)
				s.SendBody([]byte(body[:cut]), false)
				r.want("waiting", s, contentType, "cut at", cut)
				if s.Upstream().Started {
					t.Fatal("the upstream saw the request before its decision")
				}
				s.SendBody([]byte(body[cut:]), true)
				r.want("waiting", s, contentType, "cut at", cut)
				r.deliver()
				r.want("passed", s, contentType, "cut at", cut)
				wantUpstream(t, s, []byte(body))
				if got := r.askedKey(); got != aliceKey {
					t.Fatalf("%s cut at %d: key %s", contentType, cut, got)
				}
			}
			s := r.begin(contentType)
			for _, c := range []byte(body) {
				s.SendBody([]byte{c}, false)
			}
			s.SendBody(nil, true)
			r.deliver()
			r.want("passed", s)
			wantUpstream(t, s, []byte(body))
			if got := r.askedKey(); got != aliceKey {
				t.Errorf("%s byte by byte: key %s", contentType, got)
			}
		}
	}
}

func TestG37_BodiesThatCannotBeReadShareOneBucket(t *testing.T) {
	gzip := "\x1f\x8b\x08\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		contentType, body string
		lines             []string
		key, noted        string
	}{
		"compressed":        {jsonType, gzip, []string{"content-encoding", "gzip"}, unreadKey, "body_unread"},
		"multipart":         {"multipart/form-data; boundary=b", multipartLogin, nil, unreadKey, "body_unread"},
		"no type":           {"text/plain", "username=alice", nil, unreadKey, "body_unread"},
		"cut-off JSON":      {jsonType, `{"username":"alice"`, nil, unreadKey, "body_unread"},
		"two documents":     {jsonType, `{"username":"alice"}{"username":"bob"}`, nil, unreadKey, "body_unread"},
		"repeated in form":  {formType, "username=alice&username=bob", nil, unreadKey, "ambiguous"},
		"a number too many": {jsonType, `{"username":"alice","username":1}`, nil, unreadKey, "ambiguous"},
		"deep":              {jsonType, strings.Repeat("[", 5000) + strings.Repeat("]", 5000), nil, ipKey, "no_identity"},
		"an empty object":   {jsonType, `{}`, nil, ipKey, "no_identity"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, plainLogin(""))
			s := r.begin(c.contentType, c.lines...)
			s.SendBody([]byte(c.body), true)
			r.deliver()
			r.want("passed", s)
			wantUpstream(t, s, []byte(c.body))
			if got := r.askedKey(); got != c.key {
				t.Errorf("key %s, want %s", got, c.key)
			}
			for _, kind := range []string{"no_identity", "ambiguous", "body_unread"} {
				want := uint64(0)
				if kind == c.noted {
					want = 1
				}
				r.wantCounter(want, r.counter("routelimit_identity_total", "kind", kind), kind)
			}
		})
	}
}

func TestG37_BodiesOverTheCapAreDecidedAtTheCapAndArriveWhole(t *testing.T) {
	rest := strings.Repeat(" ", 5<<20)
	body := []byte(`{"username":"alice"` + rest + `}`)
	for name, sizes := range map[string][]int{"one piece": {len(body)}, "pieces of 1000": {1000}, "pieces of the cap": {16 << 10}, "a byte over": {16<<10 + 1}} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, plainLogin(""))
			s := r.begin(jsonType)
			left := body
			for sent := 0; len(left) > 0; sent += sizes[0] {
				n := min(sizes[0], len(left))
				s.SendBody(left[:n], n == len(left))
				left = left[n:]
				asked := len(r.script.Commands()) > 0
				if want := sent+n > 16<<10 || len(left) == 0; asked != want {
					t.Fatalf("after %d bytes: asked %v, want %v", sent+n, asked, want)
				}
				if sent > 64<<10 {
					r.deliver() // the answer comes while the upload goes on
				}
			}
			r.deliver()
			r.want("passed", s)
			wantUpstream(t, s, body)
			if got := r.askedKey(); got != unreadKey {
				t.Errorf("key %s, want %s", got, unreadKey)
			}
			r.wantCounter(1, r.counter("routelimit_identity_total", "kind", "body_unread"), "body_unread")
		})
	}
}

func TestBodiesUpToTheCapAreRead(t *testing.T) {
	for size, key := range map[int]string{64: aliceKey, 65: unreadKey} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := onScript(t, allow, plainLogin(`"body": {"max_bytes": 64},`))
			body := fmt.Sprintf(`{"username":"alice"%s}`, strings.Repeat(" ", size-20))
			s := r.begin(jsonType)
			for _, c := range []byte(body) {
				s.SendBody([]byte{c}, false)
			}
			s.SendBody(nil, true)
			r.deliver()
			r.want("passed", s)
			wantUpstream(t, s, []byte(body))
			if got := r.askedKey(); got != key {
				t.Errorf("key %s, want %s", got, key)
			}
		})
	}
}

// A refused request is answered at once, and the upstream sees nothing of it,
// however much of its body is still to come.
func TestG34_ARefusedUploadNeverReachesTheUpstream(t *testing.T) {
	upload := bytes.Repeat([]byte("x"), 1<<20)
	for name, policy := range map[string]string{
		"route that reads the body": plainLogin(""),
		"route that does not":       `{"routes": {"POST /login": {"identity": "ip", "limit": 5, "window": "1m"}}, "default": null}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, refuse, policy)
			s := r.begin(jsonType)
			for i := 0; i < len(upload); i += 1 << 16 {
				s.SendBody(upload[i:i+1<<16], i+1<<16 == len(upload))
				if i == 1<<19 {
					r.deliver()
				}
			}
			r.deliver()
			r.want("429", s)
			if s.Upstream().Started || len(s.Upstream().Body) > 0 {
				t.Errorf("the upstream saw %v", s.Upstream())
			}
		})
	}
}

func TestASlowBodyIsDecidedAtItsDeadlineAsUnread(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		before   time.Duration
		after    time.Duration
	}{
		"5 s if not set": {"", 4990 * ms, 40 * ms},
		"as set":         {`"body": {"timeout": "300ms"},`, 290 * ms, 40 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, plainLogin(c.settings))
			body := []byte(`{"username":"alice"}`)
			s := r.begin(jsonType)
			s.SendBody(body[:10], false)
			r.clock.Advance(c.before)
			if len(r.script.Commands()) != 0 {
				t.Fatal("decided too early")
			}
			r.advance(c.after)
			r.want("passed", s)
			if got := r.askedKey(); got != unreadKey {
				t.Errorf("key %s, want %s", got, unreadKey)
			}
			s.SendBody(body[10:], true)
			wantUpstream(t, s, body)
			r.clock.Advance(20 * ms)
			if r.plugin.TickPeriod() != 0 {
				t.Error("the tick goes on")
			}
		})
	}
}

func TestASlowBodyCanBeRefusedAtItsDeadline(t *testing.T) {
	r := onScript(t, refuse, plainLogin(""))
	s := r.begin(jsonType)
	s.SendBody([]byte(`{"username`), false)
	r.advance(5030 * ms)
	r.want("429", s)
	s.SendBody([]byte(`":"alice"}`), true)
	r.want("429", s)
}

// The time of the body comes first, then the time of Redis.
func TestTheDeadlineOfRedisBeginsAfterTheBody(t *testing.T) {
	r := onScript(t, nil, plainLogin(""))
	s := r.begin(jsonType)
	r.clock.Advance(3 * time.Second)
	s.SendBody([]byte(`{"username":"alice"}`), true)
	r.clock.Advance(49 * ms)
	r.want("waiting", s)
	r.clock.Advance(7 * ms)
	r.wantUnavailable(s, "timeout")
}

func TestBodyWithTrailers(t *testing.T) {
	body := []byte(`{"username":"alice"}`)
	trailers := hosttest.Headers{{"x-checksum", "1"}}
	for name, c := range map[string]struct {
		reply func([][]byte) []byte
		send  func(s *hosttest.Stream)
		fate  string
	}{
		"passed":           {allow, func(s *hosttest.Stream) { s.SendBody(body, false) }, "passed"},
		"refused":          {refuse, func(s *hosttest.Stream) { s.SendBody(body, false) }, "429"},
		"nothing but them": {allow, func(s *hosttest.Stream) {}, "passed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, c.reply, plainLogin(""))
			s := r.begin(jsonType)
			c.send(s)
			r.want("waiting", s)
			s.SendTrailers(trailers)
			r.want("waiting", s)
			r.deliver()
			r.want(c.fate, s)
			if c.fate != "passed" {
				return
			}
			if diff := cmp.Diff(trailers, s.Upstream().Trailers); diff != "" {
				t.Errorf("trailers: %s", diff)
			}
			if got, want := r.askedKey() == aliceKey, name == "passed"; got != want {
				t.Errorf("key %s", r.askedKey())
			}
		})
	}
}

// Trailers while Redis is asked, on a route that reads no body.
func TestTrailersWhileWaiting(t *testing.T) {
	r := onScript(t, allow, `{"routes": {"POST /login": {"identity": "ip", "limit": 5, "window": "1m"}}, "default": null}`)
	s := r.begin(jsonType)
	s.SendBody([]byte("abc"), false)
	s.SendTrailers(hosttest.Headers{{"a", "b"}})
	r.deliver()
	r.want("passed", s)
	if got := s.Upstream(); string(got.Body) != "abc" || !got.Ended || got.Trailers.Get("a") != "b" {
		t.Errorf("the upstream got %v", got)
	}
}

func TestG37_WhatNeverEndsOrCannotBeReadIsNotWaitedFor(t *testing.T) {
	for name, headers := range map[string]hosttest.Headers{
		"a websocket":        hosttest.RequestHeaders("POST", "h", "/login", "connection", "upgrade", "upgrade", "websocket", "content-type", jsonType),
		"CONNECT":            hosttest.RequestHeaders("CONNECT", "h", "/login", "content-type", jsonType),
		"gRPC":               hosttest.RequestHeaders("POST", "h", "/login", "content-type", "application/grpc"),
		"gRPC with a format": hosttest.RequestHeaders("POST", "h", "/login", "content-type", "application/grpc+json"),
		"expect":             hosttest.RequestHeaders("POST", "h", "/login", "content-type", jsonType, "expect", "100-continue"),
		"announced as large": hosttest.RequestHeaders("POST", "h", "/login", "content-type", jsonType, "content-length", "16385"),
		"a senseless length": hosttest.RequestHeaders("POST", "h", "/login", "content-type", jsonType, "content-length", "9999999999999999999999"),
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, strings.Replace(plainLogin(""), "POST /login", "* /login", 1))
			s := r.plugin.NewStream()
			s.SetProperty([]byte(client), "source", "address")
			s.SendHeaders(headers, false)
			if got := r.askedKey(); got != "rl:{*:/login|username:#unread}" {
				t.Errorf("key %s", got)
			}
			r.deliver()
			r.want("passed", s)
			s.SendBody([]byte("abc"), false)
			if got := s.Upstream(); string(got.Body) != "abc" {
				t.Errorf("the upstream got %q", got.Body)
			}
			r.wantCounter(1, r.counter("routelimit_identity_total", "kind", "body_unread"), "body_unread")
		})
	}
	t.Run("no body", func(t *testing.T) {
		r := onScript(t, allow, plainLogin(""))
		s := r.do("POST", "/login", "", "content-type", jsonType)
		r.want("passed", s)
		r.wantCounter(0, r.counter("routelimit_identity_total", "kind", "body_unread"), "body_unread")
	})
	t.Run("announced as small enough", func(t *testing.T) {
		r := onScript(t, allow, plainLogin(""))
		s := r.begin(jsonType, "content-length", "16384")
		r.want("waiting", s)
		if len(r.script.Commands()) != 0 {
			t.Error("decided without the body")
		}
	})
}

// Without allow_on_headers_stop_iteration Envoy shows no body: the deadline
// decides, and nothing hangs or is lost.
func TestG37_WithoutHeadersStopIterationNothingHangs(t *testing.T) {
	for _, c := range []struct {
		reply func([][]byte) []byte
		fate  string
	}{{allow, "passed"}, {refuse, "429"}, {always("-OOM\r\n"), "503"}} {
		t.Run(c.fate, func(t *testing.T) {
			r := onScriptWith(t, hosttest.Options{NoHeadersStopIteration: true}, c.reply, plainLogin(`"body": {"timeout": "100ms"},`))
			body := []byte(`{"username":"alice"}`)
			s := r.begin(jsonType)
			s.SendBody(body[:5], false)
			s.SendBody(body[5:], true)
			r.advance(130 * ms)
			r.want(c.fate, s)
			if c.fate == "passed" {
				wantUpstream(t, s, body)
			}
			if got := r.askedKey(); got != unreadKey {
				t.Errorf("key %s", got)
			}
		})
	}
}

func TestTheClientLeavesDuringItsBody(t *testing.T) {
	r := onScript(t, allow, plainLogin(""))
	stays := r.begin(jsonType)
	for range 100 {
		s := r.begin(jsonType)
		s.SendBody([]byte(`{"user`), false)
		s.Disconnect()
	}
	stays.SendBody([]byte(`{"username":"alice"}`), true)
	r.deliver()
	r.want("passed", stays)
	r.clock.Advance(time.Minute)
	if got := len(r.script.Commands()); got != 1 {
		t.Errorf("%d commands, want 1", got)
	}
	if r.plugin.TickPeriod() != 0 {
		t.Error("the tick goes on with nobody waiting")
	}
}

// Slow uploads must not fill the VM's memory, since that would kill it.
func TestManySlowBodiesAreBoundedTogether(t *testing.T) {
	const each = 1 << 20
	r := onScript(t, allow, plainLogin(`"body": {"max_bytes": 1048576},`))
	piece := bytes.Repeat([]byte(" "), each-1)
	decided := 0
	var all []*hosttest.Stream
	for range 300 {
		s := r.begin(jsonType)
		s.SendBody(piece, false)
		r.deliver()
		if fate(s) == "passed" {
			decided++
			if got := r.askedKey(); got != unreadKey {
				t.Fatalf("key %s, want %s", got, unreadKey)
			}
		}
		all = append(all, s)
	}
	if decided < 200 {
		t.Errorf("%d of 300 were decided without their bodies, want those over 64 MiB", decided)
	}
	if size := r.vm.MemorySize(); size > 300<<20 {
		t.Errorf("memory %d MiB", size>>20)
	}
	for _, s := range all {
		s.Disconnect()
	}
	s := r.begin(jsonType) // there is room again
	s.SendBody([]byte(`{"username":"alice"}`), true)
	r.deliver()
	r.want("passed", s)
	if got := r.askedKey(); got != aliceKey {
		t.Errorf("key %s, want %s", got, aliceKey)
	}
}

// A body that was read is let go, though its request lasts.
func TestBodiesAreLetGoOnceTheyAreRead(t *testing.T) {
	r := onScript(t, allow, plainLogin(`"body": {"max_bytes": 1048576},`))
	body := []byte(`{"username":"alice"` + strings.Repeat(" ", 1<<19) + `}`)
	for range 300 {
		s := r.begin(jsonType)
		s.SendBody(body, true)
		r.deliver()
		r.want("passed", s) // and its upstream takes its time
		if got := r.askedKey(); got != aliceKey {
			t.Fatalf("key %s, want %s", got, aliceKey)
		}
	}
	if size := r.vm.MemorySize(); size > 64<<20 {
		t.Errorf("memory %d MiB for 300 requests of 0.5 MiB", size>>20)
	}
}

// Sizes, pieces and moments drawn by chance: every byte of a passed request
// arrives, none of a refused one.
func TestRandomUploads(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, generation := range []hosttest.Generation{hosttest.Old, hosttest.Current} {
		r := onScriptWith(t, hosttest.Options{Generation: generation, BufferLimit: 32 << 10}, nil, asking(plainLogin("")))
		for i := range 200 {
			r.script.Reply = []func([][]byte) []byte{allow, refuse}[i%2]
			body := make([]byte, random.IntN(1<<(4+random.IntN(18))))
			for j := range body {
				body[j] = byte(random.Uint32())
			}
			s := r.begin(jsonType)
			for left := body; len(left) > 0; {
				n := 1 + random.IntN(len(left))
				s.SendBody(left[:n], false)
				left = left[n:]
				if random.IntN(3) == 0 {
					r.advance(time.Duration(random.IntN(5)) * ms)
				}
			}
			if random.IntN(2) == 0 {
				s.SendBody(nil, true)
			} else {
				s.SendTrailers(hosttest.Headers{{"t", "1"}})
			}
			r.deliver()
			if i%2 == 1 {
				r.want("429", s, "upload", i)
				continue
			}
			r.want("passed", s, "upload", i)
			wantUpstream(t, s, body)
		}
	}
}
