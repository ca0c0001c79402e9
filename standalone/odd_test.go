package standalone

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
		Module: builtModule, Cluster: "routelimit", Redis: client, Patience: 20 * time.Millisecond, Host: "127.0.0.1", Upstream: upstream.Addr(), Workers: 1,
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
