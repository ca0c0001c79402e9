//go:build !wasip1

package main_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

// fuzzed reads identities from everywhere, under limits of every kind.
const fuzzed = `{"client": {"trusted_hops": 1}, "body": {"max_bytes": 512, "timeout": "100ms"},
	"identities": {
		"key":    {"from": "header:x-key", "secret": true},
		"sid":    {"from": "cookie:sid", "fold": true},
		"q":      {"from": "query:q"},
		"id":     {"from": "path:id", "fold": true},
		"sub":    {"from": "metadata:jwt/payload/sub"},
		"jwt":    {"from": "jwt_unverified:sub"},
		"name":   {"from": "body:user.name", "fold": true},
		"agent":  {"from": "property:request.useragent"}},
	"routes": {
		"POST /login":       {"on_error": "closed", "limits": [
			{"identity": "ip+name", "limit": 3, "window": "1m", "algorithm": "sliding_log"},
			{"identity": "name", "limit": 50, "window": "1h", "count": [401]},
			{"identity": "ip", "limit": 100, "window": "5m", "shadow": true}]},
		"* /x/:id":          {"identity": "id+sub|jwt+q|key|sid|agent", "limit": 5, "window": "1s", "algorithm": "token_bucket", "burst": 2},
		"GET h.example/a/*": {"identity": "key|q", "limit": 5, "window": "1m", "exempt": ["10.0.0.0/8"]},
		"* /plan":           {"limits": [
			{"identity": "key|ip", "window": "1m", "cost": "header:x-cost", "enforce_percent": 50,
				"limit": {"by": "header:x-plan", "values": {"gold": 9, "trial": 0}, "default": 3}},
			{"name": "claim", "identity": "key|ip", "window": "1m", "limit": {"by": "metadata:jwt/payload/sub", "values": {"1": 9}, "default": 3}, "shadow": true}]},
		"PUT /none":         {"identity": "all", "limit": 0, "window": "1m"}},
	"default": {"on_error": "closed", "identity": "key|name|ip", "limit": 5, "window": "1m"}}`

// newFuzzRig is a rig whose Redis is played by the fuzzer.
func newFuzzRig(t testing.TB) *rig {
	r := &rig{t: t, clock: hosttest.NewClock(), script: &hosttest.Scripted{}}
	r.start(nil, hosttest.Options{
		NestedResumes: 70,
		LogLevel:      hosttest.LogCritical,
		Environment:   map[string]string{"HASH_KEY": "0123456789abcdef"},
	}, r.script, fuzzed)
	return r
}

// A fuzzedRequest is one request, cut and timed by a seed.
type fuzzedRequest struct {
	seed    uint64
	headers string // lines of "name: value"; without one of ":method" the usual
	path    string
	body    []byte
	redis   []byte // what Redis sends; empty: what it should
}

func (f *fuzzedRequest) lines() hosttest.Headers {
	h := hosttest.Headers{{":path", f.path}, {":authority", "h.example"}, {":scheme", "http"}}
	method := "POST"
	for line := range strings.SplitSeq(f.headers, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case name == "method":
			method = value
		case name != "":
			h = append(h, [2]string{name, value})
		}
	}
	return append(h, [2]string{":method", method})
}

// play lets r live through the request and what Redis sends, and checks what
// holds for every request.
func (f *fuzzedRequest) play(t *testing.T, r *rig) {
	random := rand.New(rand.NewPCG(f.seed, 1))
	r.script.Reply = nil
	if len(f.redis) == 0 {
		r.script.Reply = []func([][]byte) []byte{allow, refuse}[f.seed%2]
	}
	redis := f.redis
	deliver := func() {
		if stream := r.script.Stream(); stream != nil && len(redis) > 0 {
			n := 1 + random.IntN(len(redis))
			if err := stream.Deliver(redis[:n]); err != nil {
				t.Fatal(err)
			}
			redis = redis[n:]
		}
		if _, err := r.script.DeliverBytes(1 + random.IntN(40)); err != nil {
			t.Fatal(err)
		}
	}

	other := r.send("POST", "/elsewhere", "{}")
	s := r.plugin.NewStream()
	s.SetProperty(slices.Clone(f.body), "metadata", "filter_metadata", "jwt", "payload", "sub")
	if f.seed%5 == 0 {
		s.SetProperty(slices.Clone(f.redis), "xds", "route_metadata")
	}
	trailers := f.seed%3 == 0
	s.SendHeaders(f.lines(), len(f.body) == 0 && !trailers)
	for left := f.body; len(left) > 0; {
		n := 1 + random.IntN(len(left))
		s.SendBody(left[:n], n == len(left) && !trailers)
		left = left[n:]
		switch random.IntN(4) {
		case 0:
			deliver()
		case 1:
			r.clock.Advance(time.Duration(random.IntN(30)) * ms)
		}
	}
	gone := f.seed%7 == 0
	if trailers {
		s.SendTrailers(hosttest.Headers{{"t", "1"}})
	}
	if gone {
		s.Disconnect()
	}
	for range 4 {
		deliver()
	}
	r.clock.Advance(time.Second)
	for r.script.Pending() > 0 {
		deliver()
	}
	r.clock.Advance(time.Second)

	if r.vm.Dead() != nil || len(r.vm.Faults()) > 0 || r.script.Err() != nil {
		t.Fatalf("VM: %v, faults: %q, commands: %v", r.vm.Dead(), r.vm.Faults(), r.script.Err())
	}
	if lines := r.vm.Logs(hosttest.LogCritical); len(lines) > 0 {
		t.Fatalf("logged: %s", lines[0].Text)
	}
	for _, one := range []*hosttest.Stream{s, other} {
		got := fate(one)
		if one == s && gone && got == "broken: []" {
			continue
		}
		if !slices.Contains([]string{"passed", "429", "503"}, got) {
			t.Fatalf("the request: %s", got)
		}
		if one == s && got == "passed" && !gone && (!bytes.Equal(s.Upstream().Body, f.body) || !s.Upstream().Ended) {
			t.Fatalf("the upstream got %q, ended %v; want %q", s.Upstream().Body, s.Upstream().Ended, f.body)
		}
		if got != "passed" && one.Upstream().Started {
			t.Fatal("the upstream saw a refused request")
		}
		respond(one, "401", "x-ratelimit-limit", "9")
		one.Disconnect()
	}
	if r.plugin.TickPeriod() != 0 && r.script.Stream() == nil {
		t.Fatal("the tick goes on with nobody waiting")
	}
}

// FuzzRequest is the whole path of a request: its headers, its path, its body in
// pieces, and what Redis says to it, in pieces too. Whatever they are: no trap,
// nothing that Envoy does not forgive, no panic, and exactly one outcome, also
// for the request beside it.
func FuzzRequest(f *testing.F) {
	json := "content-type: application/json\n"
	good := string(packed(1, scriptedTimeMS, 1, 2, 1000, 0))
	login := `{"user":{"name":"Alice"},"password":"x"}`
	for i, seed := range []fuzzedRequest{
		{headers: json, path: "/login", body: []byte(login)},
		{headers: json, path: "/login?x", body: []byte(login), redis: []byte("-READONLY x\r\n-OOM\r\n-NOSCRIPT\r\n")},
		{headers: json, path: "//login/", body: []byte(`{"user":{"name":"a","name":"b"}}`), redis: []byte(good + good)},
		{headers: json, path: "/login", body: []byte(strings.Repeat(" ", 600) + login), redis: []byte("*6\r\n:1\r\n:1")},
		{headers: "content-type: application/x-www-form-urlencoded", path: "/login", body: []byte("user.name=%41&x=%zz")},
		{headers: json + "content-length: 99999", path: "/login", body: []byte(login)},
		{headers: json + "expect: 100-continue", path: "/login", body: []byte(login)},
		{headers: json + "upgrade: websocket", path: "/login", body: []byte(login), redis: []byte("$-1\r\n")},
		{headers: "content-type: application/grpc", path: "/login", body: []byte("\x00\x00\x00\x00\x01a"), redis: []byte("garbage")},
		{headers: "method: GET\nx-key: k\nx-forwarded-for: 10.1.2.3", path: "/a/b/c"},
		{headers: "method: GET\nx-key: \x80\xff\nx-key: 2\nx-forwarded-for: [::1]:1,,", path: "/a/%2e%2e/%"},
		{headers: "method: HEAD\ncookie: sid=a; sid=b\nauthorization: Bearer a.eyJzdWIiOjF9.c", path: "/x/%E2%84%AA?q=1&q=2"},
		{headers: "method: OPTIONS\norigin: o\naccess-control-request-method: GET", path: "/x/1"},
		{headers: "method: PUT", path: "/none", body: []byte("x")},
		{headers: "method: CONNECT\n:authority: \n:path: ", path: "", body: []byte("x")},
		{headers: "authorization: bearer " + strings.Repeat("e", 5000), path: "/x/" + strings.Repeat("a%2F", 2000), body: []byte{1, 2, 3, 4, 5, 6, 7, 0xff}},
		{headers: "method: GET\nx-plan: gold\nx-cost: 7\nx-key: a", path: "/plan", body: []byte("1")},
		{headers: "method: GET\nx-plan: trial\nx-cost: -7\nx-cost: 8\nx-key: b", path: "/plan"},
		{headers: "x-plan: \x80\nx-cost: 99999999999999999999999", path: "/plan", body: []byte("\x00\x00\x00\x00\x00\x00\xf0\x3f")},
		{headers: json, path: "/login", body: []byte(login), redis: metadataSeed},
		{headers: json, path: "/login", body: []byte(login), redis: []byte(strings.Repeat("*1\r\n", 200))},
		{headers: json, path: "/login", body: []byte(login), redis: append([]byte("$66000\r\n"), make([]byte, 66000)...)},
	} {
		for s := range uint64(36) {
			seed.seed = uint64(i)*1000 + s
			f.Add(seed.seed, seed.headers, seed.path, seed.body, seed.redis)
		}
	}
	r := newFuzzRig(f)
	f.Fuzz(func(t *testing.T, seed uint64, headers, path string, body, redis []byte) {
		(&fuzzedRequest{seed, headers, path, body, redis}).play(t, r)
	})
}

// metadataSeed is a Metadata message with a route of ours in it.
var metadataSeed = []byte("\x0a\x4e\x0a\x0aroutelimit\x12\x40\x0a\x10\x0a\x05route\x12\x07\x1a\x05GET /\x0a\x10\x0a\x08identity\x12\x04\x1a\x02ip" +
	"\x0a\x14\x0a\x05limit\x12\x0b\x11\x00\x00\x00\x00\x00\x00\x14\x40")
