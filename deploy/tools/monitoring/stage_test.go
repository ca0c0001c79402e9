package monitoring

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"routelimit/bootstrap"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// stage is an Envoy with envoy.yaml's statistics and listeners on which everything can happen that a metric counts.
type stage struct {
	t     *testing.T
	envoy *servers.Envoy
	sick  *servers.Redis // behind listener sick, without redis_proxy
}

// everyday has a route for each outcome that a well Redis can bring, strict for those of routes that nobody declared, and
// sick and old for what happens without a decision.
const (
	everyday = `{
	"identities": {
		"key":  {"from": "header:x-key"},
		"user": {"from": "body:user"}
	},
	"routes": {
		"GET /limited": {"identity": "ip", "limit": 1, "window": "1h"},
		"GET /tried":   {"identity": "ip", "limit": 1, "window": "1h", "shadow": true},
		"GET /exempt":  {"identity": "ip", "limit": 1, "window": "1h", "exempt": ["127.0.0.0/8"]},
		"GET /key":     {"identity": "key", "limit": 100, "window": "1h"},
		"POST /user":   {"identity": "user", "limit": 100, "window": "1h"},
		"GET /cost":    {"identity": "ip", "limit": 100, "window": "1h", "cost": "header:x-cost"},
		"GET /plan":    {"identity": "ip", "limit": {"by": "header:x-plan", "values": {"gold": 100}, "default": 10}, "window": "1h"},
		"GET /both": {"limits": [
			{"name": "key", "identity": "key", "limit": 100, "window": "1h"},
			{"name": "ip",  "identity": "ip",  "limit": 1,   "window": "1h"}]},
		"GET /free": {"limits": []}
	}, "default": null}`
	strict = `{"undeclared": "refuse"}`
	sick   = `{"redis": {"cluster": "sick_routelimit"}, "routes": {
		"GET /open":   {"identity": "all", "limit": 1000, "window": "1h"},
		"GET /closed": {"identity": "all", "limit": 1000, "window": "1h", "on_error": "closed"},
		"GET /local":  {"identity": "all", "limit": 10,   "window": "1h", "on_error": "local"}}, "default": null}`
	old = `{"redis": {"cluster": "old_routelimit"}, "default": {"identity": "all", "limit": 10, "window": "1h"}}`
)

// startStage runs the Envoy until the end of the test.
func startStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, sick: servertest.StartRedis(t, servers.RedisOptions{})}
	c := s.configuration()
	c.Root()["stats_flush_interval"] = "0.5s" // histograms appear with it
	s.envoy = servertest.StartEnvoy(t, servers.EnvoyOptions{
		Binary: servertest.Envoy(t, os.Getenv("ENVOY_VERSION")), Config: c.Bytes(), WorkDir: "../../..",
	})
	return s
}

func (s *stage) configuration() *bootstrap.Config {
	s.t.Helper()
	text, err := os.ReadFile("../../../envoy.yaml")
	s.check(err)
	c, err := bootstrap.Parse(text)
	s.check(err)
	c.RemoveAccessLogs()
	c.SetAdmin("127.0.0.1", 0)
	s.check(c.SetListener(bootstrap.PublicListener, "127.0.0.1", 0))
	s.check(c.SetUpstream(servertest.StartUpstream(s.t, servers.UpstreamOptions{}).Addr()))
	s.check(c.SetRedis(servertest.StartRedis(s.t, servers.RedisOptions{}).Addr()))
	s.addLink(c, "sick", s.sick.Addr())
	s.addLink(c, "old", s.oldRedis())
	for name, policy := range map[string]string{"everyday": everyday, "strict": strict, "sick": sick, "old": old} {
		l, err := c.CopyListener(bootstrap.PublicListener, name)
		s.check(err)
		bootstrap.PluginsIn(l)[0].SetConfiguration(policy)
		if name == "strict" {
			declareBadly(l)
		}
		c.Add("listeners", l)
	}
	return c
}

// addLink adds a link that leads to a Redis without redis_proxy in between, so that a silent Redis is silence.
func (s *stage) addLink(c *bootstrap.Config, name, addr string) {
	s.t.Helper()
	link, err := c.AddLink(name)
	s.check(err)
	s.check(c.SetEndpoints(link.Store, addr))
	s.check(c.LeadDirectly(link.Cluster, link.Store))
}

type tree = map[string]any

// declareBadly puts limits that cannot be read into the metadata of a listener's route.
func declareBadly(listener tree) {
	firstRoute(listener)["metadata"] = tree{"filter_metadata": tree{"routelimit": tree{"route": "GET /broken", "limit": "many"}}}
}

func firstRoute(listener tree) tree {
	chain := listener["filter_chains"].([]any)[0].(tree)
	manager := chain["filters"].([]any)[0].(tree)["typed_config"].(tree)
	host := manager["route_config"].(tree)["virtual_hosts"].([]any)[0].(tree)
	return host["routes"].([]any)[0].(tree)
}

// oldRedis is a server that knows no scripts, and answers everything so.
func (s *stage) oldRedis() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.check(err)
	s.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go answerOld(conn)
		}
	}()
	return l.Addr().String()
}

// answerOld answers each EVALSHA, which is written in capitals and by its own line.
func answerOld(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "EVALSHA") {
			if _, err := io.WriteString(conn, "-ERR unknown command 'EVALSHA'\r\n"); err != nil {
				return
			}
		}
	}
}

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// drive makes happen, at least once, whatever can be counted.
func (s *stage) drive() {
	s.t.Helper()
	for path, headers := range map[string][]string{
		"/limited": nil, "/tried": nil, "/exempt": nil, "/free": nil, "/undeclared": nil, "/both": {"x-key", "a"},
		"/cost": {"x-cost", "none"}, "/plan": {"x-plan", "tin"},
		"/key": {"x-key", strings.Repeat("long", 500)},
	} {
		for range 3 {
			s.send("everyday", "GET", path, nil, headers...)
		}
	}
	s.send("everyday", "GET", "/key", nil, "x-key", "a", "x-key", "b")
	s.send("everyday", "GET", "/key", nil)
	s.send("everyday", "POST", "/user", gzipped(`{"user": "a"}`), "content-encoding", "gzip", "content-type", "application/json")
	s.send("strict", "GET", "/anything", nil)
	s.send("old", "GET", "/", nil)
	s.outage()
}

// outage stops the sick Redis until the breaker has opened, and sees it close.
func (s *stage) outage() {
	s.t.Helper()
	s.send("sick", "GET", "/closed", nil) // the link stands
	s.check(s.sick.Pause())
	for range 8 {
		for _, path := range []string{"/open", "/closed", "/local"} {
			s.send("sick", "GET", path, nil)
		}
	}
	s.check(s.sick.Resume())
	s.eventually("the breaker closes", func() error {
		s.send("sick", "GET", "/open", nil)
		return s.shows(`routelimit_breaker_total{outcome="closed"} [1-9]`)
	})
}

// shows says whether a line of the page begins so.
func (s *stage) shows(pattern string) error {
	if page := s.page(); !regexp.MustCompile(`(?m)^` + pattern).MatchString(page) {
		return fmt.Errorf("no line begins with %s", pattern)
	}
	return nil
}

func (s *stage) page() string {
	page, err := s.envoy.Prometheus(s.t.Context())
	s.check(err)
	return page
}

func (s *stage) eventually(what string, check func() error) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for err := check(); err != nil; err = check() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: still not after a minute: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *stage) send(listener, method, path string, body []byte, headers ...string) {
	s.t.Helper()
	url := "http://" + servertest.Address(s.t, s.envoy, listener) + path
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, bytes.NewReader(body))
	s.check(err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	s.check(err)
	_, err = io.Copy(io.Discard, a.Body)
	s.check(err)
	a.Body.Close()
}

func gzipped(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, text) // into memory, which never fails
	w.Close()
	return out.Bytes()
}
