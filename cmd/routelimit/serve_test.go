package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/policy"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// running is a run that has said what runs where.
type running struct {
	said   string // up to "Ctrl-C ends everything."
	cancel context.CancelFunc
	ended  chan int // gets the exit code, and is closed
	stderr *bytes.Buffer
}

// startRun calls the program and returns when everything runs. The test's end ends it.
func startRun(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, ended: make(chan int, 1), stderr: &bytes.Buffer{}}
	out, in := io.Pipe()
	go func() {
		code := program(ctx, onFreePorts(args...), strings.NewReader(""), in, r.stderr)
		in.Close()
		r.ended <- code
		close(r.ended)
	}()
	t.Cleanup(func() {
		cancel()
		for range r.ended { // until it is closed
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		r.said += lines.Text() + "\n"
		if lines.Text() == "Ctrl-C ends everything." {
			return r
		}
	}
	t.Fatalf("it ended with code %d: %s", <-r.ended, r.stderr)
	return nil
}

// end is what Ctrl-C does.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.cancel()
	if code := <-r.ended; code != exitOK {
		t.Errorf("code %d after Ctrl-C, stderr %q", code, r.stderr)
	}
}

// address finds what stands behind a word in what was said.
func (r *running) address(t *testing.T, word string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)` + word + ` +(?:http://)?([0-9.]+:[0-9]+)`).FindStringSubmatch(r.said)
	if m == nil {
		t.Fatalf("no address behind %q in:\n%s", word, r.said)
	}
	return m[1]
}

// do sends a tip's request once.
func (tp tip) do(t *testing.T, base string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(tp.method, base+tp.path, strings.NewReader(tp.body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range tp.headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	if tp.body != "" {
		req.Header.Set("content-type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

func TestRunAnswersAsItsTipsSayAndLeavesNothing(t *testing.T) {
	for _, engine := range []string{withEnvoy, withWazero} {
		t.Run(engine, func(t *testing.T) { answersAsItsTipsSay(t, engine) })
	}
}

func answersAsItsTipsSay(t *testing.T, engine string) {
	tmp := atRoot(t)
	r := startRun(t, "--config", patient(t), "--engine", engine)
	base, redisAddr, upstream := "http://"+r.address(t, engine), r.address(t, "redis"), r.address(t, "upstream")
	page := r.address(t, "live page")

	token := ""
	if bearer := regexp.MustCompile(`Bearer ([^']+)'`).FindStringSubmatch(r.said); bearer != nil {
		token = bearer[1]
	}
	if (token != "") != (engine == withEnvoy) {
		t.Fatalf("token %q in:\n%s", token, r.said)
	}
	list, left := tips(shippedPolicy(t), token)
	want := map[string]int{withEnvoy: 5, withWazero: 4}[engine] // nobody issues a token there
	if said := strings.Contains(r.said, "1 more route with limits is not shown"); len(list) != want || left != 5-want || said != (left == 1) {
		t.Errorf("%d tips and %d left, for the five kinds of routes in envoy.yaml; said:\n%s", len(list), left, r.said)
	}
	for _, tp := range list {
		if !strings.Contains(r.said, "  "+tp.curl(base)+"\n      "+tp.answers+"\n") {
			t.Errorf("not said: %s", tp.curl(base))
		}
		for i := range tp.times {
			resp := tp.do(t, base)
			if want := tp.statuses[min(i, len(tp.statuses)-1)]; resp.StatusCode != want {
				t.Errorf("%s %s, request %d: %d, want %d", tp.method, tp.path, i+1, resp.StatusCode, want)
			}
			if limited := resp.Header.Get("x-ratelimit-remaining") != ""; limited != (tp.path != "/healthz") {
				t.Errorf("%s %s: headers %v", tp.method, tp.path, resp.Header)
			}
		}
	}
	forged := tip{method: "POST", path: "/orders", headers: []string{"authorization: Bearer " + token + "AA"}}
	if resp := forged.do(t, base); engine == withEnvoy && resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a spoiled token gets %d", resp.StatusCode)
	}
	shows(t, "http://"+page+"/state", `"terms":"10 in 5m by sliding_log"`, `"refused":1`, `username:2bd806c97f0e00af`, `"breaker_open":0`)

	http.DefaultClient.CloseIdleConnections()
	r.end(t)
	empty(t, tmp)
	for _, addr := range []string{strings.TrimPrefix(base, "http://"), redisAddr, upstream, page} {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("something listens on %s after the end", addr)
		}
	}
}

// shows waits until the live page has all of this.
func shows(t *testing.T, url string, wanted ...string) {
	t.Helper()
	var body string
	lacks := func(want string) bool { return !strings.Contains(body, want) }
	for end := time.Now().Add(20 * time.Second); body == "" || slices.ContainsFunc(wanted, lacks); time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if body = string(text); err != nil || time.Now().After(end) {
			t.Fatalf("%v; the page shows:\n%s", err, body)
		}
	}
}

// patient is a copy of the shipped configuration that waits for seconds: a busy machine can miss the shipped deadlines,
// and then a request is answered without Redis.
func patient(t *testing.T) (path string) {
	t.Helper()
	text, err := os.ReadFile("envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for short, long := range map[string]string{
		"\n    connect_timeout: 0.025s": "\n    connect_timeout: 5s",
		"op_timeout: 0.025s":            "op_timeout: 5s",
		`{ "trusted_hops": 1 }`:         `{ "trusted_hops": 1 }, "redis": { "timeout": "10s" }`,
	} {
		if bytes.Count(text, []byte(short)) != 1 {
			t.Fatalf("envoy.yaml does not say %s once", short)
		}
		text = bytes.Replace(text, []byte(short), []byte(long), 1)
	}
	path = filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func shippedPolicy(t *testing.T) *policy.Policy {
	t.Helper()
	s := &stage{flags: &runFlags{config: "envoy.yaml"}}
	if err := s.readConfig(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.policy
}

// fixture is a Redis that the test runs, and run is given.
type fixture struct {
	url    string
	client redis.UniversalClient
	engine string
	args   []string
}

func TestRunUsesTheRedisAndTheUpstreamThatAreGiven(t *testing.T) {
	tmp := atRoot(t)
	u := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for name, start := range map[string]func(*testing.T) fixture{
		"with a password": func(t *testing.T) fixture {
			r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
			if err := r.Client().ConfigSet(t.Context(), "requirepass", "p@ss").Err(); err != nil {
				t.Fatal(err)
			}
			options := servers.ClientOptions("tcp", r.Addr())
			options.Password = "p@ss"
			client := redis.NewClient(options)
			t.Cleanup(func() { client.Close() })
			return fixture{"redis://:p%40ss@" + r.Addr(), client, withEnvoy, nil}
		},
		"a socket": func(t *testing.T) fixture {
			r := servertest.StartRedis(t, servers.RedisOptions{Socket: true, Dir: shortDir(t)})
			return fixture{r.URL(), r.Client(), withEnvoy, nil}
		},
		"a Cluster": func(t *testing.T) fixture {
			c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
			return fixture{c.Addrs()[1], c.Client(), withEnvoy, nil}
		},
		"TLS":                func(t *testing.T) fixture { return secured(t, withEnvoy) },
		"TLS, without Envoy": func(t *testing.T) fixture { return secured(t, withWazero) },
		"a Cluster, without Envoy": func(t *testing.T) fixture {
			c := servertest.StartCluster(t, servers.ClusterOptions{Primaries: 3})
			return fixture{c.Addrs()[1], c.Client(), withWazero, nil}
		},
		"a socket, without Envoy": func(t *testing.T) fixture {
			r := servertest.StartRedis(t, servers.RedisOptions{Socket: true, Dir: shortDir(t)})
			return fixture{r.URL(), r.Client(), withWazero, nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := start(t)
			args := append([]string{"--redis", given.url, "--upstream", u.Addr(), "--engine", given.engine}, given.args...)
			r := startRun(t, args...)
			resp := decided(t, tip{method: "GET", path: "/api/search", headers: []string{"x-api-key: k"}}, "http://"+r.address(t, given.engine))
			if resp.StatusCode != http.StatusOK || resp.Header.Get("x-ratelimit-limit") != "300" {
				t.Errorf("%d, %v", resp.StatusCode, resp.Header)
			}
			if seen := u.Requests(); len(seen) == 0 || seen[0].Header.Get("x-api-key") != "k" {
				t.Errorf("the upstream saw %v", seen)
			}
			u.Reset()
			keys := allKeys(t, given.client)
			if len(keys) != 2 || strings.Contains(r.said, "p@ss") || strings.Contains(r.said, "p%40ss") {
				t.Errorf("keys %v; said:\n%s", keys, r.said)
			}
			r.end(t)
			if err := given.client.Ping(t.Context()).Err(); err != nil {
				t.Errorf("the given Redis ended too: %v", err)
			}
		})
	}
	empty(t, tmp)
}

// secured is a Redis behind TLS, whose certificate an authority in a file has signed.
func secured(t *testing.T, engine string) fixture {
	r := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir()})
	certificate, key := selfSigned(t)
	return fixture{"rediss://" + behindTLS(t, r, certificate, key), r.Client(), engine, []string{"--redis-ca", certificate}}
}

// A policy by itself is enough, in JSON and in YAML, and anywhere.
func TestRunTakesAPolicyByItself(t *testing.T) {
	const inYAML = `
redis: {timeout: 10s}
identities:
  key: {from: "header:x-key", secret: true}
routes:
  GET /few: {identity: key|ip, limit: 2, window: 24h, on_error: closed}
default: {identity: ip, limit: 1000, window: 24h}
`
	const inJSON = `{"redis": {"timeout": "10s"}, "identities": {"key": {"from": "header:x-key", "secret": true}},
		"routes": {"GET /few": {"identity": "key|ip", "limit": 2, "window": "24h", "on_error": "closed"}}, "default": {"identity": "ip", "limit": 1000, "window": "24h"}}`
	yaml, json := write(t, "policy.yaml", inYAML), write(t, "policy.json", inJSON)
	tmp := atRoot(t)
	t.Chdir(t.TempDir()) // where no module is
	for _, c := range []struct{ policy, engine string }{{yaml, withEnvoy}, {json, withWazero}} {
		t.Run(c.engine, func(t *testing.T) {
			r := startRun(t, "--config", c.policy, "--engine", c.engine)
			base := "http://" + r.address(t, c.engine)
			for i, want := range []int{200, 200, 429} {
				if resp := (tip{method: "GET", path: "/few", headers: []string{"x-key: k"}}).do(t, base); resp.StatusCode != want {
					t.Errorf("request %d: %d, want %d", i+1, resp.StatusCode, want)
				}
			}
			if resp := (tip{method: "GET", path: "/few", headers: []string{"x-key: other"}}).do(t, base); resp.StatusCode != 200 {
				t.Errorf("another key: %d", resp.StatusCode)
			}
			http.DefaultClient.CloseIdleConnections()
			r.end(t)
		})
	}
	empty(t, tmp)
}

// What would make limits fail later is said at the start, on the terminal and on the page.
func TestRunWarnsOfAnEvictingRedisAndADeadUpstream(t *testing.T) {
	atRoot(t)
	redis := servertest.StartRedis(t, servers.RedisOptions{Dir: t.TempDir(), Args: []string{"--maxmemory-policy", "allkeys-lru"}})
	r := startRun(t, "--engine", withWazero, "--redis", redis.URL(), "--upstream", "127.0.0.1:1")
	for _, want := range []string{
		"WARNING: this Redis has maxmemory-policy allkeys-lru and evicts keys once maxmemory is set", "set maxmemory-policy noeviction",
		"WARNING: the upstream does not answer", "correct --upstream",
	} {
		if !strings.Contains(r.said, want) {
			t.Errorf("not said: %q in\n%s", want, r.said)
		}
		shows(t, "http://"+r.address(t, "live page")+"/state", strings.TrimPrefix(want, "WARNING: "))
	}
	if resp := (tip{method: "GET", path: "/healthz"}).do(t, "http://"+r.address(t, withWazero)); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
	r.end(t)
}

// decided asks until Redis has decided in time about all limits of a route, the tightest of which is 300: on a busy
// machine the first questions may take longer than the shipped deadlines allow.
func decided(t *testing.T, tp tip, url string) (resp *http.Response) {
	t.Helper()
	for range 50 {
		if resp = tp.do(t, url); resp.Header.Get("x-ratelimit-limit") == "300" {
			break
		}
	}
	return resp
}

// shortDir is for a socket, whose path may have 107 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// allKeys are the keys on all primaries.
func allKeys(t *testing.T, client redis.UniversalClient) []string {
	t.Helper()
	var keys []string
	collect := func(ctx context.Context, c *redis.Client) error {
		some, err := c.Keys(ctx, "*").Result()
		keys = append(keys, some...)
		return err
	}
	var err error
	if c, ok := client.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(t.Context(), collect)
	} else {
		err = collect(t.Context(), client.(*redis.Client))
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestWaitNoticesAServerThatEndsByItself(t *testing.T) {
	config := read(t, "../../servers/testdata/plain.yaml")
	for name, end := range map[string]func(*stage){
		"envoy": func(s *stage) { s.engine.(envoyEngine).Kill() },
		"redis": func(s *stage) { s.redis.Kill() },
	} {
		s := &stage{
			flags:  &runFlags{engine: withEnvoy},
			engine: envoyEngine{servertest.StartEnvoy(t, servers.EnvoyOptions{Config: []byte(config)})},
			redis:  servertest.StartRedis(t, servers.RedisOptions{}),
		}
		end(s)
		if err := s.wait(t.Context()); err == nil || !strings.Contains(err.Error(), name+" ended by itself; run again") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}
