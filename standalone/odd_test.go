package standalone

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	"routelimit/resp"
	"routelimit/servers"
	"routelimit/servers/servertest"
)

// withoutRedis is a server whose limits need no Redis: they are 0, or there are none.
func withoutRedis(t *testing.T) (*Server, *servers.Upstream) {
	t.Helper()
	client := redis.NewClient(servers.ClientOptions("tcp", "127.0.0.1:1"))
	t.Cleanup(func() { client.Close() })
	upstream := servertest.StartUpstream(t, servers.UpstreamOptions{})
	s, err := Start(t.Context(), Options{
		Module: builtModule, Cluster: "routelimit", KeyPrefix: "rl", Redis: client, Patience: 20 * time.Millisecond, Host: "127.0.0.1", Upstream: upstream.Addr(), Workers: 1,
		Policy: []byte(`{"routes": {"* /closed": {"identity": "ip", "limit": 0, "window": "1m"}, "* /closed/*": {"identity": "ip", "limit": 0, "window": "1m"}}, "default": null}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s, upstream
}

// gRPC comes in and goes out as HTTP/2, and is refused in its own words.
func TestGRPCIsHTTP2OnBothSides(t *testing.T) {
	s, upstream := withoutRedis(t)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	for path, want := range map[string]string{"/shop.Orders/List": "", "/closed": "8"} {
		response, err := (&http.Client{Transport: transport}).Post("http://"+s.Addr()+path, "application/grpc+proto", strings.NewReader("\x00\x00\x00\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != 200 || response.ProtoMajor != 2 || response.Header.Get("grpc-status") != want {
			t.Errorf("%s: %s %d %v", path, response.Proto, response.StatusCode, response.Header)
		}
	}
	if seen := upstream.Requests(); len(seen) != 1 || seen[0].Proto != "HTTP/2.0" || seen[0].Bytes != 5 {
		t.Errorf("the upstream saw %+v", seen)
	}
}

// Odd requests get one answer each, or none and a closed connection; what passes is what the filter has decided about.
func TestOddRequests(t *testing.T) {
	s, upstream := withoutRedis(t)
	for name, c := range map[string]struct {
		request string
		status  string // of the first answer
		path    string // that the upstream sees; "": nothing
	}{
		"a whole URL":                {"GET http://other.example/open?q HTTP/1.1\r\nhost: a\r\n\r\n", "200", "/open?q"},
		"a whole URL that is closed": {"GET http://other.example/closed HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"two slashes":                {"GET //closed HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"a path as a host":           {"GET //evil.example/x HTTP/1.1\r\nhost: a\r\n\r\n", "200", "//evil.example/x"},
		"dots":                       {"GET /open/../closed HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"escaped":                    {"GET /%63losed HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"a method of its own":        {"BREW /closed/x HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"HEAD":                       {"HEAD /closed HTTP/1.1\r\nhost: a\r\n\r\n", "429", ""},
		"the server itself":          {"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", "200", ""}, // the upstream answers by itself
		"HTTP/1.0 without a host":    {"GET /open HTTP/1.0\r\n\r\n", "200", "/open"},
		"no host":                    {"GET /open HTTP/1.1\r\n\r\n", "400", ""},
		"CONNECT":                    {"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", "501", ""},
		"an upgrade":                 {"GET /open HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", "200", "/open"},
		"two lengths":                {"POST /open HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", "400", ""},
		"a length and chunks":        {"POST /open HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "200", "/open"},
		"broken chunks":              {"POST /open HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "", "/open"},
		"huge headers":               {"GET /open HTTP/1.1\r\nhost: a\r\nx: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", "431", ""},
		"a header named like ours":   {"GET /open HTTP/1.1\r\nhost: a\r\n:path: /closed\r\n\r\n", "400", ""},
		"a fragment":                 {"GET /open#/../closed HTTP/1.1\r\nhost: a\r\n\r\n", "400", ""},
		"garbage":                    {strings.Repeat("\x00\x01\x02", 20) + "\r\n\r\n", "400", ""},
	} {
		upstream.Reset()
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(conn, c.request)
		if name == "broken chunks" {
			conn.(*net.TCPConn).CloseWrite()
		}
		method, _, _ := strings.Cut(c.request, " ")
		response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
		switch {
		case err == nil && c.status != "" && fmt.Sprint(response.StatusCode) != c.status, err != nil && c.status != "":
			t.Errorf("%s: %v, %v, want %s", name, response, err, c.status)
		}
		conn.Close()
		var paths []string
		for _, seen := range upstream.Requests() {
			paths = append(paths, seen.Path)
		}
		if got := strings.Join(paths, " "); got != c.path && !(name == "broken chunks" && got == "") {
			t.Errorf("%s: the upstream saw %q, want %q", name, got, c.path)
		}
	}
	if dead := s.workers[0].vm.Dead(); dead != nil || len(s.workers[0].vm.Faults()) > 0 {
		t.Errorf("%v, %v", dead, s.workers[0].vm.Faults())
	}
}

// A connection header takes away headers that the client sent, and none that says who it is.
func TestAConnectionHeaderHidesNobody(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "192.0.2.1:5"
	r.Header.Set("Connection", "x-forwarded-for")
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	headers, _, err := arriving(r, &bootstrap.Front{UseRemoteAddress: true})
	if got := headers.Values("x-forwarded-for"); err != nil || strings.Join(got, "|") != "192.0.2.1" {
		t.Errorf("%q, %v", got, err)
	}
}

// What a node of a Cluster gave no answer to may be counted, and is not sent again.
func TestACommandIsSentToAClusterOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var sent atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveDeafNode(conn, &sent)
		}
	}()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{l.Addr().String()}, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	k := &link{worker: &worker{server: &Server{options: Options{Redis: client, Patience: 2 * time.Second}}}, ctx: t.Context()}
	if got := string(k.ask([][]any{{"EVALSHA", "sha", "1", "key"}})); got != "-upstream failure\r\n" || sent.Load() != 1 {
		t.Errorf("%q, sent %d times, want once", got, sent.Load())
	}
}

// serveDeafNode is the only node of a Cluster. It hangs up on whatever carries a script.
func serveDeafNode(conn net.Conn, sent *atomic.Int64) {
	defer conn.Close()
	host, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	var decoder resp.Decoder
	buffer := make([]byte, 4096)
	for {
		command, err := decoder.Next()
		if err != nil {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			decoder.Write(buffer[:n])
			continue
		}
		switch strings.ToUpper(string(command.Elems[0].Text)) {
		case "EVALSHA":
			sent.Add(1)
			return
		case "CLUSTER":
			fmt.Fprintf(conn, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:%s\r\n", len(host), host, port)
		case "COMMAND":
			fmt.Fprint(conn, "*0\r\n")
		default:
			fmt.Fprint(conn, "-ERR unknown command\r\n")
		}
	}
}
