//go:build !wasip1

package main_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	hosttest "routelimit/host-test"
	"routelimit/limit"
	"routelimit/resp"
	"routelimit/servers"
)

const wasmPath = "../build/routelimit.wasm"

// module is the module as it ships, compiled once.
var module = sync.OnceValues(func() (*hosttest.Module, error) { return compile(wasmPath) })

func compile(path string) (*hosttest.Module, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; run make wasm", err)
	}
	return hosttest.Compile(context.Background(), wasm)
}

// server is the Redis that the tests of this package share.
var server = sync.OnceValues(func() (*servers.Redis, error) {
	ctx := context.Background()
	path, err := servers.NewToolbox(os.Stderr).Redis(ctx, "8.2.3")
	if err != nil {
		return nil, err
	}
	serverUsed = true
	return servers.StartRedis(ctx, servers.RedisOptions{Binary: path})
})

var serverUsed bool

func TestMain(m *testing.M) {
	code := m.Run()
	if serverUsed {
		if r, err := server(); err == nil {
			r.Stop()
		}
	}
	os.Exit(code)
}

// A rig is an Envoy with one worker and one root of the filter, in front of a
// real Redis or a scripted one.
type rig struct {
	t      testing.TB
	host   *hosttest.Host
	vm     *hosttest.VM
	plugin *hosttest.Plugin
	clock  *hosttest.Clock
	redis  *hosttest.Redis    // the real one, or nil
	script *hosttest.Scripted // the other
	db     *redis.Client      // into the real one
	// panics says that the test makes the module panic; else a line in the log
	// that tells of a panic fails the test.
	panics bool
}

// onRedis starts a rig on an empty Redis, whose scripts count by the rig's clock.
func onRedis(t testing.TB, configuration string) *rig {
	t.Helper()
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, clock: hosttest.NewClock(), db: s.Client()}
	if err := r.db.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.redis = hosttest.NewRedis(s.Addr(), hosttest.RedisOptions{VirtualTime: r.clock})
	t.Cleanup(r.redis.Close)
	t.Cleanup(r.checkExpiries)
	r.start(nil, hosttest.Options{}, r.redis, configuration)
	return r
}

// onScript starts a rig on a Redis that answers with reply; nil answers nothing.
func onScript(t testing.TB, reply func(command [][]byte) []byte, configuration string) *rig {
	t.Helper()
	return onScriptWith(t, hosttest.Options{}, reply, configuration)
}

func onScriptWith(t testing.TB, o hosttest.Options, reply func(command [][]byte) []byte, configuration string) *rig {
	t.Helper()
	r := &rig{t: t, clock: hosttest.NewClock(), script: &hosttest.Scripted{Reply: reply}}
	r.start(nil, o, r.script, configuration)
	return r
}

// start makes the VM; m is the module that ships where it is nil.
func (r *rig) start(m *hosttest.Module, o hosttest.Options, backend hosttest.Backend, configuration string) {
	r.t.Helper()
	if m == nil {
		var err error
		if m, err = module(); err != nil {
			r.t.Fatal(err)
		}
	}
	o.Clock, o.Clusters = r.clock, map[string]hosttest.Backend{"routelimit": backend}
	r.host = hosttest.NewHost(m, o)
	vm, err := r.host.NewVM(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.vm = vm
	r.t.Cleanup(func() { vm.Close() })
	r.t.Cleanup(r.check)
	r.plugin = r.configure(configuration)
}

// asking is a policy under which every request is asked about: no refusal is
// repeated from memory.
func asking(policy string) string { return section(`"deny_cache": {"max_time": "0s"}`, policy) }

// unbroken is a policy without a breaker.
func unbroken(policy string) string { return section(`"breaker": {"failures": 0}`, policy) }

// section puts a section into a policy.
func section(section, policy string) string { return strings.Replace(policy, "{", "{"+section+",", 1) }

// configure adds a root with a configuration that must be accepted.
func (r *rig) configure(configuration string) *hosttest.Plugin {
	r.t.Helper()
	p, err := r.vm.NewPlugin([]byte(configuration))
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.vm.LogText())
	}
	return p
}

// check fails the test for what a real Envoy, or its operator, does not forgive.
func (r *rig) check() {
	if err := r.vm.Dead(); err != nil {
		r.t.Errorf("the VM died: %v", err)
	}
	if faults := r.vm.Faults(); len(faults) > 0 {
		r.t.Errorf("faults: %q", faults)
	}
	if r.script != nil && r.script.Err() != nil {
		r.t.Error(r.script.Err())
	}
	if r.redis != nil && r.redis.Err() != nil {
		r.t.Error(r.redis.Err())
	}
	for _, line := range r.vm.Logs(hosttest.LogCritical) {
		if !r.panics {
			r.t.Errorf("logged: %s", line.Text)
		}
	}
	if r.t.Failed() {
		r.t.Logf("log:\n%s", r.vm.LogText())
	}
}

// checkExpiries is G16: no key of ours lives for ever.
func (r *rig) checkExpiries() {
	ctx := context.Background()
	keys, err := r.db.Keys(ctx, "*").Result()
	if err != nil {
		r.t.Error(err)
	}
	for _, key := range keys {
		if ttl, err := r.db.PTTL(ctx, key).Result(); err != nil || ttl <= 0 {
			r.t.Errorf("G16: key %q has the expiry %v (%v)", key, ttl, err)
		}
	}
}

// advance lets time pass, and the replies that ticks asked for come in.
func (r *rig) advance(d time.Duration) {
	r.t.Helper()
	r.clock.Advance(d)
	r.deliver()
}

// deliver hands over everything that Redis has answered.
func (r *rig) deliver() {
	r.t.Helper()
	if r.redis != nil {
		if err := r.redis.DeliverAll(5 * time.Second); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	for r.script.Pending() > 0 {
		if _, err := r.script.Deliver(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// client is the address that requests come from where a test does not say.
const client = "203.0.113.7:40000"

// send sends a request and leaves Redis' replies undelivered.
func (r *rig) send(method, path, body string, lines ...string) *hosttest.Stream {
	return r.sendTo(r.plugin, method, path, body, lines...)
}

func (r *rig) sendTo(p *hosttest.Plugin, method, path, body string, lines ...string) *hosttest.Stream {
	s := p.NewStream()
	s.SetProperty([]byte(client), "source", "address")
	s.SendHeaders(hosttest.RequestHeaders(method, "api.example.com", path, lines...), body == "")
	if body != "" {
		s.SendBody([]byte(body), true)
	}
	return s
}

// do sends a request and lets it be decided.
func (r *rig) do(method, path, body string, lines ...string) *hosttest.Stream {
	r.t.Helper()
	s := r.send(method, path, body, lines...)
	r.deliver()
	return s
}

func (r *rig) get(path string, lines ...string) *hosttest.Stream {
	r.t.Helper()
	return r.do("GET", path, "", lines...)
}

// from is a GET from an address, as Envoy writes it.
func (r *rig) from(address, path string) *hosttest.Stream {
	r.t.Helper()
	s := r.plugin.NewStream()
	s.SetProperty([]byte(address), "source", "address")
	s.SendHeaders(hosttest.RequestHeaders("GET", "api.example.com", path), true)
	r.deliver()
	return s
}

// fate is what became of a request: "passed", "waiting", or the status of our
// answer, and "broken" where two of these hold.
func fate(s *hosttest.Stream) string {
	var fates []string
	if s.Upstream().Started {
		fates = append(fates, "passed")
	}
	if s.Paused() {
		fates = append(fates, "waiting")
	}
	if reply := s.LocalReply(); reply != nil {
		fates = append(fates, fmt.Sprint(reply.Status))
	}
	if len(fates) != 1 {
		return fmt.Sprintf("broken: %q", fates)
	}
	return fates[0]
}

// want fails the test unless the request had that fate.
func (r *rig) want(want string, s *hosttest.Stream, about ...any) {
	r.t.Helper()
	if got := fate(s); got != want {
		r.t.Fatalf("%s: %s, want %s", strings.TrimSuffix(fmt.Sprintln(about...), "\n"), got, want)
	}
	if want != "passed" && s.Upstream().Started {
		r.t.Fatalf("%v: the upstream saw something of it", about)
	}
}

// respond plays the upstream.
func respond(s *hosttest.Stream, status string, lines ...string) {
	h := hosttest.Headers{{":status", status}}
	for i := 0; i < len(lines); i += 2 {
		h = append(h, [2]string{lines[i], lines[i+1]})
	}
	s.Respond(hosttest.Response{Headers: h})
}

// keys returns all keys of the real Redis, sorted.
func (r *rig) keys() []string {
	r.t.Helper()
	keys, err := r.db.Keys(r.t.Context(), "*").Result()
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// stored returns the fields of a key.
func (r *rig) stored(key string) map[string]string {
	r.t.Helper()
	fields, err := r.db.HGetAll(r.t.Context(), key).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return fields
}

// count returns the current count of a window's field, 0 if there is none.
func (r *rig) count(key, field string) int {
	r.t.Helper()
	text, err := r.db.HGet(r.t.Context(), key, field).Result()
	if errors.Is(err, redis.Nil) {
		return 0
	}
	var start, count, previous int
	if _, scanErr := fmt.Sscan(text, &start, &count, &previous); err != nil || scanErr != nil {
		r.t.Fatalf("%s %s = %q: %v %v", key, field, text, err, scanErr)
	}
	return count
}

// counter returns a counter by what stands between the name's dots.
func (r *rig) counter(name string, labels ...string) uint64 {
	for i := 0; i < len(labels); i += 2 {
		name += "." + labels[i] + "=." + labels[i+1] + ";"
	}
	if labels != nil {
		name += "."
	}
	return r.host.Counter(name)
}

// requests returns the counter of a limit's outcome.
func (r *rig) requests(route, limit, outcome string) uint64 {
	return r.counter("routelimit_requests_total", "route", route, "limit", limit, "outcome", outcome)
}

func (r *rig) failures(kind string) uint64 {
	return r.counter("routelimit_failures_total", "kind", kind)
}

func (r *rig) wantCounter(want, got uint64, name string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s is %d, want %d", name, got, want)
	}
}

// logged returns how many lines of the log hold a text.
func (r *rig) logged(text string) int {
	n := 0
	for _, line := range r.vm.Logs(hosttest.LogTrace) {
		if strings.Contains(line.Text, text) {
			n++
		}
	}
	return n
}

// Commands as a scripted Redis sees them: EVALSHA sha 1 key numbers field …

func isRefund(command [][]byte) bool { return is(command, 1) }

func isDecide(command [][]byte) bool { return is(command, 0) }

func is(command [][]byte, script int) bool {
	s := limit.Scripts()[script]
	return string(command[1]) == s.SHA || string(command[1]) == s.Text
}

func keyOf(command [][]byte) string { return string(command[3]) }

// limitsIn is how many limits a decide command asks about: one field each.
func limitsIn(command [][]byte) int { return len(command) - 5 }

// allow admits everything and refunds what it is asked to.
func allow(command [][]byte) []byte { return verdict(command, true) }

// refuse refuses everything, for a second.
func refuse(command [][]byte) []byte { return verdict(command, false) }

const scriptedTimeMS = 1_729_771_200_000

func verdict(command [][]byte, pass bool) []byte {
	if isRefund(command) {
		return []byte(":1\r\n")
	}
	each := []int64{0, 0, 1000, 1000}
	numbers := []int64{0, scriptedTimeMS}
	if pass {
		each, numbers[0] = []int64{1, 0, 1000, 0}, 1
	}
	for range limitsIn(command) {
		numbers = append(numbers, each...)
	}
	return packed(numbers...)
}

// packed is a reply of the script: allowed, the time, and four numbers for each limit, each of so many bytes.
func packed(numbers ...int64) []byte {
	sizes := []int{1, 7}
	for len(sizes) < len(numbers) {
		sizes = append(sizes, 1, 7, 7, 7)
	}
	var b []byte
	for i, n := range numbers {
		whole := binary.BigEndian.AppendUint64(nil, uint64(n))
		b = append(b, whole[8-sizes[i]:]...)
	}
	return resp.AppendBulk(nil, b)
}

// always answers every command with the same bytes.
func always(reply string) func([][]byte) []byte {
	return func([][]byte) []byte { return []byte(reply) }
}
