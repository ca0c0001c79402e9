package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answers refuses each kind of request from the second one on.
var answers = listen("answers", `{"routes": {
		"POST /pkg.Svc/Do": {"identity": "all", "limit": 1, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"},
		"GET /page":        {"identity": "all", "limit": 1, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"},
		"POST /never":      {"identity": "all", "limit": 0, "window": "24h"},
		"* /cors":          {"identity": "all", "limit": 2, "window": "24h", "algorithm": "fixed_window", "on_error": "closed"}
	}, "default": null}`)

// http2 makes a client speak HTTP/2 without TLS, and without asking first.
func (c *client) http2() *client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	c.http.Transport.(*http.Transport).Protocols = protocols
	return c
}

func TestG14GRPCRefusalIsOneOfGRPC(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, answers, "").http2()
	frame := "\x00\x00\x00\x00\x02\x08\x01" // not compressed, 2 bytes, field 1 = 1
	for _, kind := range []string{"application/grpc", "application/grpc+proto"} {
		t.Run(kind, func(t *testing.T) {
			flush(t, store.get(t))
			ask := func() answer { return c.send("POST", "/pkg.Svc/Do", frame, "content-type", kind, "te", "trailers") }
			if a := ask(); a.status != http.StatusOK || a.header.Get("grpc-status") != "" {
				t.Fatalf("the first call: status %d, headers %v", a.status, a.header)
			}
			checkArrived(t, int64(len(frame)), sha(frame))
			a := ask()
			if a.status != http.StatusOK || a.number("grpc-status") != 8 || a.body != "" || a.header.Get("content-type") != "application/grpc" {
				t.Errorf("status %d, headers %v, body %q", a.status, a.header, a.body)
			}
			message := a.header.Get("grpc-message")
			if after := a.number("retry-after"); after < 1 || message != "rate limited; retry after "+a.header.Get("retry-after")+" s" {
				t.Errorf("retry-after %d, grpc-message %q", after, message)
			}
			if a.number("x-ratelimit-limit") != 1 || a.number("x-ratelimit-remaining") != 0 {
				t.Errorf("headers %v", a.header)
			}
		})
	}
	if a := c.send("POST", "/pkg.Svc/Do", "{}", "content-type", "application/json"); a.status != http.StatusTooManyRequests || a.header.Get("grpc-status") != "" {
		t.Errorf("JSON to the same path: status %d, headers %v", a.status, a.header)
	}
}

func TestG14GRPCOnAClosedRouteIsUnavailableWhileRedisIsSilent(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, public, "").http2()
	pause(t)
	a := c.send("POST", "/login", "\x00\x00\x00\x00\x00", "content-type", "application/grpc", "te", "trailers")
	if a.status != http.StatusOK || a.number("grpc-status") != 14 || a.header.Get("grpc-message") != "rate limiter unavailable" || a.number("retry-after") != 5 {
		t.Errorf("status %d, headers %v", a.status, a.header)
	}
}

func TestG13HeadSpendsGetsLimitAndIsRefusedWithoutBody(t *testing.T) {
	e := fresh(t)
	for name, c := range map[string]*client{"HTTP/1.1": dial(t, e, answers, ""), "HTTP/2": dial(t, e, answers, "").http2()} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			checkPassed(t, c.get("/page"), 1, 0)
			for range 3 { // on one connection: a body that came all the same would be taken for the next answer
				a := c.send("HEAD", "/page", "")
				if a.status != http.StatusTooManyRequests || a.body != "" || a.number("retry-after") < 1 {
					t.Errorf("status %d, headers %v, body %q", a.status, a.header, a.body)
				}
			}
		})
	}
	conn := dial(t, e, answers, "").connect()
	fmt.Fprint(conn, "HEAD /page HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
	whole, err := io.ReadAll(conn)
	if head, body, _ := strings.Cut(string(whole), "\r\n\r\n"); err != nil || !strings.HasPrefix(head, "HTTP/1.1 429 ") || body != "" {
		t.Errorf("%v, head %q, bytes behind it %q", err, head, body)
	}
}

func TestG13PreflightsAreNeitherCountedNorRefused(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, answers, "")
	preflight := func() answer {
		return c.send("OPTIONS", "/cors", "", "origin", "https://a.example", "access-control-request-method", "GET")
	}
	for range 5 {
		if a := preflight(); a.status != http.StatusOK || a.number("x-ratelimit-limit") != -1 {
			t.Errorf("status %d, headers %v", a.status, a.header)
		}
	}
	checkPassed(t, c.get("/cors"), 2, 1)
	checkPassed(t, c.send("OPTIONS", "/cors", ""), 2, 0) // no preflight
	checkRefused(t, c.get("/cors"), 2, day)
	if a := preflight(); a.status != http.StatusOK {
		t.Errorf("a preflight over the limit: status %d", a.status)
	}
}

func TestG29QuotaHeadersReplaceTheUpstreams(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, answers, "")
	checkPassed(t, c.get("/page", "x-want-status", "200"), 1, 0) // each once; Retry-After is the upstream's
	flush(t, store.get(t))
	if a := c.get("/page", "x-want-status", "429"); a.number("x-ratelimit-limit") != 1 || a.number("retry-after") != 77 || !strings.Contains(a.body, `"sha256"`) {
		t.Errorf("an upstream's own 429: headers %v, body %s", a.header, a.body)
	}
}

func TestG30LimitOfZeroRefusesAndNamesNoTime(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, answers, "")
	a := c.send("POST", "/never", "x")
	if a.status != http.StatusTooManyRequests || a.header.Get("retry-after") != "" || a.body != `{"error":"rate_limited"}` {
		t.Errorf("status %d, headers %v, body %q", a.status, a.header, a.body)
	}
	if n, keys := upstream.get(t).Started(), keysNow(t); n != 0 || len(keys) != 0 {
		t.Errorf("the upstream saw %d requests, Redis holds %q", n, keys)
	}
}
