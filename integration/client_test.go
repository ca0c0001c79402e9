package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"routelimit/servers"
)

// answerTime is what any answer may take on the busiest of machines.
const answerTime = 30 * time.Second

// client speaks to one listener of one Envoy.
type client struct {
	t    testing.TB
	addr string
	from net.Dialer
	tls  bool
	http *http.Client
}

// dial is a client of a place. Its connections come from an address of 127.0.0.0/8; "" leaves that to the system.
func dial(t testing.TB, e *servers.Envoy, p *place, from string) *client {
	t.Helper()
	return dialAddr(t, p.address(t, e), from)
}

func dialAddr(t testing.TB, addr, from string) *client {
	c := &client{t: t, addr: addr}
	if from != "" {
		c.from.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	transport := &http.Transport{DialContext: c.from.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	c.http = &http.Client{Transport: transport, Timeout: answerTime}
	return c
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

// get asks for a path and fails the test if there is no answer.
func (c *client) get(path string, h ...string) answer { return c.send("GET", path, "", h...) }

// send sends a request with a body of known length.
func (c *client) send(method, path, body string, h ...string) answer {
	c.t.Helper()
	a, err := c.try(method, path, body, h...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// try is send for goroutines other than the test's, and where no answer is an answer.
func (c *client) try(method, path, body string, h ...string) (answer, error) {
	return c.stream(context.Background(), method, path, strings.NewReader(body), int64(len(body)), h...)
}

// stream sends a body of which the length is known, or -1 for a chunked one.
func (c *client) stream(ctx context.Context, method, path string, body io.Reader, length int64, h ...string) (answer, error) {
	began := time.Now()
	if length == 0 {
		body = http.NoBody
	}
	scheme := "http://"
	if c.tls {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+c.addr+path, body)
	if err != nil {
		return answer{}, err
	}
	req.ContentLength = length
	for i := 0; i+1 < len(h); i += 2 {
		req.Header.Add(h[i], h[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	return read(resp, began)
}

func read(resp *http.Response, began time.Time) (answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), took: time.Since(began)}, err
}

// login posts credentials that the upstream takes.
func (c *client) login(username string, h ...string) answer {
	c.t.Helper()
	return c.send("POST", "/login", fmt.Sprintf(`{"username":%q,"password":"correct"}`, username),
		append([]string{"content-type", "application/json"}, h...)...)
}

// loginText is the text of a login.
func loginText(body string) string {
	return fmt.Sprintf("POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s",
		len(body), body)
}

// raw sends a request as it is written, on a connection of its own.
func (c *client) raw(text string) answer {
	c.t.Helper()
	conn := c.connect()
	if _, err := io.WriteString(conn, text); err != nil {
		c.t.Fatal(err)
	}
	return c.receive(conn)
}

// connect opens a connection that ends with the test.
func (c *client) connect() net.Conn {
	c.t.Helper()
	conn, err := c.from.Dial("tcp", c.addr)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// receive reads one response.
func (c *client) receive(conn net.Conn) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := read(resp, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// number is a header's value; -1 if it occurs not exactly once or is no number.
func (a answer) number(name string) int {
	values := a.header.Values(name)
	if len(values) != 1 {
		return -1
	}
	n, err := strconv.Atoi(values[0])
	if err != nil {
		return -1
	}
	return n
}

// statuses are those of some answers, in their order.
func statuses(n int, one func(i int) answer) []int {
	var list []int
	for i := range n {
		list = append(list, one(i).status)
	}
	return list
}

// passThenRefuse is what so many requests get under a limit: 200, and 429 when it is used up.
func passThenRefuse(limit, requests int) []int {
	var list []int
	for i := range requests {
		if i < limit {
			list = append(list, http.StatusOK)
		} else {
			list = append(list, http.StatusTooManyRequests)
		}
	}
	return list
}
