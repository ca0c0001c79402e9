package standalone

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	hosttest "routelimit/host-test"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

var builtModule *hosttest.Module

func TestMain(m *testing.M) {
	wasm, err := os.ReadFile("../build/routelimit.wasm")
	if err == nil {
		builtModule, err = hosttest.Compile(context.Background(), wasm)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no module to run; run make wasm:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const tryPolicy = `{"identities": {"user": {"from": "body:user"}, "key": {"from": "header:x-key"}},
	"redis": {"timeout": "2s"},
	"routes": {
		"POST /login": {"identity": "user", "limit": 2, "window": "24h", "on_error": "closed"},
		"POST /form": {"identity": "user", "limit": 1000, "window": "24h"},
		"POST /upload": {"identity": "ip", "limit": 1000, "window": "24h"},
		"GET /few": {"identity": "key|ip", "limit": 20, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"},
		"GET /open": {"identity": "ip", "limit": 1000, "window": "24h"}},
	"default": null}`

// rig is a server with a Redis and an upstream of the test's.
type rig struct {
	*Server
	redis    *servers.Redis
	upstream *servers.Upstream
	log      *safeBuffer
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safeBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(text)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func clientOf(r *servers.Redis) *redis.Client {
	options := servers.ClientOptions(r.Network(), r.Addr())
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options)
}

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{redis: servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()}), upstream: servertest.StartUpstream(t, servers.UpstreamOptions{}), log: &safeBuffer{}}
	client := clientOf(r.redis)
	t.Cleanup(func() { client.Close() })
	o := Options{
		Module: builtModule, Policy: []byte(tryPolicy), Cluster: "routelimit", KeyPrefix: "rl", Front: &bootstrap.Front{UseRemoteAddress: true},
		Redis: client, Patience: time.Second, Host: "127.0.0.1", Upstream: r.upstream.Addr(), Workers: 2, Log: r.log,
	}
	if change != nil {
		change(&o)
	}
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = server
	t.Cleanup(server.Stop)
	return r
}

func (r *rig) send(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+r.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// Each VM has decided once before anybody can ask it, and nothing shows that it has, with Redis or without.
func TestEachVMIsWarmBeforeItServes(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Workers = 3 })
	stats, err := r.redis.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stats, "cmdstat_evalsha:calls=3,") + strings.Count(stats, "cmdstat_del:calls=3,"); n != 2 {
		t.Errorf("not one decision by each of 3 VMs: %s", stats)
	}
	if keys, err := r.redis.Client().Keys(t.Context(), "*").Result(); err != nil || len(keys) != 0 {
		t.Errorf("keys %v, %v", keys, err)
	}
	for _, w := range r.workers {
		w.do(func() {
			if len(w.vm.Plugins()) != 1 || len(w.plugin.Streams()) != 0 {
				t.Errorf("%d configurations, %d streams", len(w.vm.Plugins()), len(w.plugin.Streams()))
			}
		})
	}
	m, err := r.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range m.Values {
		if n > 0 && name != "routelimit_routes" || strings.Contains(name, warmPath) {
			t.Errorf("%s is %d", name, n)
		}
	}
	if m.Values["routelimit_routes"] != 5 || len(m.Histograms) != 0 {
		t.Errorf("%v", m)
	}
	began := time.Now()
	if s, _ := withoutRedis(t); time.Since(began) > warmPatience {
		t.Errorf("%s took %s to start", s.Addr(), time.Since(began))
	}
}

func TestALoginIsRefusedAndAnotherIsNot(t *testing.T) {
	r := newRig(t, nil)
	for i, want := range []int{401, 401, 429, 429} {
		response, body := r.send(t, "POST", "/login", `{"user": "alice"}`, "content-type", "application/json", "x-want-status", "401")
		if response.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, response.StatusCode, want)
		}
		if want == 429 && (response.Header.Get("retry-after") == "" || !strings.Contains(body, "rate_limited") || response.Header.Get("x-ratelimit-limit") != "2") {
			t.Errorf("refused with %v and %q", response.Header, body)
		}
	}
	if response, _ := r.send(t, "POST", "/login", "user=bob", "content-type", "application/x-www-form-urlencoded"); response.StatusCode != 200 {
		t.Errorf("bob gets %d", response.StatusCode)
	}
	if n := r.upstream.Started(); n != 3 {
		t.Errorf("the upstream saw %d requests", n)
	}
	if !strings.Contains(r.log.String(), `][info][wasm] wasm log: {"event":"rate_limited","route":"POST:/login"`) {
		t.Errorf("the log: %s", r.log.String())
	}
	m, err := r.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	passed := "routelimit_requests_total.route=.POST:/login;.limit=.user;.outcome=.passed;."
	if last := m.Histograms["routelimit_decision_us"]; m.Values[passed] != 3 || m.Values["routelimit_routes"] != 5 || last[len(last)-1].Count < 4 {
		t.Errorf("metrics %v", m)
	}
}

// What Envoy tells the filter about a request, and what it sends on.
func TestTheUpstreamSeesWhatEnvoyWouldSend(t *testing.T) {
	r := newRig(t, nil)
	r.send(t, "GET", "/open/%2e%2e/a%20b?q=1&q=2", "", "X-Two", "a", "X-Two", "b", "Connection", "x-hop", "X-Hop", "secret", "X-Forwarded-For", "203.0.113.9", "User-Agent", "")
	seen := r.upstream.Requests()[0]
	if seen.Path != "/open/%2e%2e/a%20b?q=1&q=2" || fmt.Sprint(seen.Header["X-Two"]) != "[a b]" || seen.Header["X-Hop"] != nil ||
		seen.Header.Get("X-Forwarded-For") != "203.0.113.9,127.0.0.1" || seen.Host != r.Addr() || seen.Header["User-Agent"] != nil {
		t.Errorf("%+v", seen)
	}
}

// Bodies of all sizes reach the upstream whole, those that the filter waits for as well.
func TestUploadsArriveWhole(t *testing.T) {
	r := newRig(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 16 << 10, 16<<10 + 1, 300_000, 5 << 20} {
		for _, path := range []string{"/upload", "/form"} {
			body := make([]byte, size)
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			response, text := r.send(t, "POST", path, string(body), "content-type", "application/x-www-form-urlencoded")
			var seen servers.Seen
			sum := sha256.Sum256(body)
			if err := json.Unmarshal([]byte(text), &seen); err != nil || seen.Bytes != int64(size) || seen.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%s of %d bytes: %d, %q, %v", path, size, response.StatusCode, text, err)
			}
		}
	}
}

// A refused upload is answered while it is still being sent, and its rest is not taken for another request.
func TestARefusedUploadEndsItsConnection(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Policy = []byte(`{"redis": {"timeout": "2s"}, "routes": {"POST /upload": {"identity": "ip", "limit": 0, "window": "1m"}}, "default": null}`)
	})
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\nGET /open HTTP/1.1\r\nhost: a\r\n\r\n")
	answers, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("the connection does not end: %v", err)
	}
	if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 || !strings.HasPrefix(string(answers), "HTTP/1.1 429 ") {
		t.Errorf("%d answers: %q", n, answers)
	}
	if n := r.upstream.Started(); n != 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
}

func TestTrailersArePassedOnWithManyAtOnce(t *testing.T) {
	r := newRig(t, nil)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			conn, err := net.Dial("tcp", r.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn, "POST /upload HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntrailer: x-sum, x-none\r\n\r\n5\r\nhello\r\n0\r\nx-sum: 5\r\nx-other: 1\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			var seen servers.Seen
			if err := json.NewDecoder(response.Body).Decode(&seen); err != nil || seen.Bytes != 5 || seen.Trailer.Get("x-sum") != "5" {
				t.Errorf("%d, %+v, %v", response.StatusCode, seen, err)
			}
		})
	}
	wait.Wait()
}

// Exactly as many pass as the limit says, however many come at once.
func TestManyAtOnceAreCountedExactly(t *testing.T) {
	r := newRig(t, nil)
	var passed, refused int
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 60 {
		wait.Go(func() {
			response, err := http.Get("http://" + r.Addr() + "/few")
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			switch response.StatusCode {
			case 200:
				passed++
			case 429:
				refused++
			default:
				t.Errorf("status %d", response.StatusCode)
			}
		})
	}
	wait.Wait()
	if passed != 20 || refused != 40 {
		t.Errorf("%d passed, %d refused", passed, refused)
	}
}

// Without Redis each route goes by its on_error; with it again, all is as before.
func TestRedisGoesAndComesBack(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Patience = 50 * time.Millisecond })
	r.send(t, "GET", "/open", "")
	r.redis.Kill()
	if response, body := r.send(t, "GET", "/few", ""); response.StatusCode != 503 || !strings.Contains(body, "rate_limiter_unavailable") || response.Header.Get("retry-after") != "5" {
		t.Errorf("closed: %d, %q", response.StatusCode, body)
	}
	if response, _ := r.send(t, "GET", "/open", ""); response.StatusCode != 200 || response.Header.Get("x-ratelimit-limit") != "" {
		t.Errorf("open: %d, %v", response.StatusCode, response.Header)
	}
	if m, err := r.Metrics(); err != nil || m.Values["routelimit_failures_total.kind=.upstream_failure;."] < 2 {
		t.Errorf("metrics %v, %v", m, err)
	}
	if err := r.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if response, _ := r.send(t, "GET", "/few", ""); response.StatusCode == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it did not come back: %s", r.log.String())
		}
	}
}

func TestAnUpstreamThatDoesNotAnswerIsA503(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Upstream = "127.0.0.1:1" })
	if response, body := r.send(t, "GET", "/open", ""); response.StatusCode != 503 || body != "the upstream cannot be reached" {
		t.Errorf("%d, %q", response.StatusCode, body)
	}
}

// A client that leaves early, at any stage, leaves nothing behind.
func TestClientsThatLeaveLeaveNothing(t *testing.T) {
	r := newRig(t, nil)
	for _, part := range []string{"POST /login HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\n", "POST /login HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\nuser", "GET /open HTTP/1.1\r\nhost: a\r\n\r\n"} {
		conn, err := net.Dial("tcp", r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, part)
		conn.Close()
	}
	open := func() (n int) {
		for _, w := range r.workers {
			w.do(func() { n += len(w.exchanges) + len(w.plugin.Streams()) })
		}
		return n
	}
	r.send(t, "GET", "/open", "")
	for end := time.Now().Add(10 * time.Second); open() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d exchanges are left", open())
		}
	}
}

func TestStopEndsEverythingWhileRequestsAreOnTheirWay(t *testing.T) {
	r := newRig(t, nil)
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /login HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\nuser=")
	began := time.Now()
	r.Stop()
	if took := time.Since(began); took > grace+5*time.Second {
		t.Errorf("it took %s", took)
	}
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && !strings.Contains(line, " 50") {
		t.Errorf("the client got %q", line)
	}
	if _, err := net.Dial("tcp", r.Addr()); err == nil {
		t.Error("it still listens")
	}
	if _, err := r.Metrics(); err == nil {
		t.Error("a worker is still there")
	}
}

func TestAPortThatIsTakenIsSaid(t *testing.T) {
	r := newRig(t, nil)
	o := r.options
	_, port, _ := net.SplitHostPort(r.Addr())
	fmt.Sscan(port, &o.Port)
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), port) {
		t.Errorf("error = %v", err)
	}
	o.Port, o.Policy = 0, []byte(`{"default": 1}`)
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "refuses the policy") {
		t.Errorf("error = %v", err)
	}
}

// Where a VM dies, whoever waits in it is answered at once, and the next one finds a new VM.
func TestADeadVMIsReplaced(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Workers = 1 })
	w := r.workers[0]
	if err := r.redis.Pause(); err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + r.Addr() + "/few")
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		w.do(func() {
			streams := w.plugin.Streams()
			if waits = len(streams) == 1 && streams[0].Paused(); waits {
				w.vm.Close()
			}
		})
	}
	if got := <-status; got != 503 {
		t.Errorf("status %d", got)
	}
	if err := r.redis.Resume(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if response, _ := r.send(t, "GET", "/few", ""); response.StatusCode == 200 && response.Header.Get("x-ratelimit-limit") == "20" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it did not come back: %s", r.log.String())
		}
	}
	if !strings.Contains(r.log.String(), "the VM is loaded again") {
		t.Errorf("the log: %s", r.log.String())
	}
}
