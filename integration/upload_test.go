package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"routelimit/servers"
)

// uploads has a route of each kind: without limits, limited without the body, and limited by something in the body.
var uploads = listen("uploads", `{
	"identities": {"username": {"from": "body:username", "fold": true, "secret": true}},
	"routes": {
		"POST /free":  {"limits": []},
		"POST /login": {"on_error": "closed", "limits": [
			{"name": "account", "identity": "username", "limit": 1000, "window": "24h"},
			{"name": "address", "identity": "ip", "limit": 1000, "window": "24h"}]},
		"POST /one":   {"on_error": "closed", "identity": "ip", "limit": 1, "window": "24h"},
		"POST /once":  {"on_error": "closed", "identity": "username", "limit": 1, "window": "24h"}
	},
	"default": {"identity": "ip", "limit": 1000, "window": "24h", "on_error": "closed"}}`)

// generated are so many bytes, the same for the same seed, and never in memory all at once.
func generated(size int64, seed byte) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), size)
}

// upload sends a body and returns its hash.
func (c *client) upload(path string, body io.Reader, length int64, h ...string) (answer, string) {
	c.t.Helper()
	sum := sha256.New()
	a, err := c.stream(context.Background(), "POST", path, io.TeeReader(body, sum), length, h...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a, hex.EncodeToString(sum.Sum(nil))
}

// last is the newest request that the upstream has taken in.
func last(t *testing.T) servers.Seen {
	t.Helper()
	all := upstream.get(t).Requests()
	if len(all) == 0 {
		t.Fatal("the upstream has seen nothing")
	}
	return all[len(all)-1]
}

func checkArrived(t *testing.T, size int64, sum string) {
	t.Helper()
	if seen := last(t); seen.Bytes != size || seen.SHA256 != sum || seen.Error != "" {
		t.Errorf("the upstream got %d bytes, hash %s, error %q; sent %d, hash %s", seen.Bytes, seen.SHA256, seen.Error, size, sum)
	}
}

func TestG37BodyReachesTheUpstreamWhole(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	// Around the 16 KiB of a body that are read, the 32 KiB that a connection buffers, and far above both.
	sizes := []int64{1, 1000, 16383, 16384, 16385, 32768, 65537, 300_000, 1_500_000, 5_000_000}
	for _, path := range []string{"/free", "/upload", "/login"} {
		for _, kind := range []string{"application/octet-stream", "application/json"} {
			for i, size := range sizes {
				for _, length := range []int64{size, -1} {
					a, sum := c.upload(path, generated(size, byte(i)), length, "content-type", kind)
					if a.status != http.StatusOK {
						t.Fatalf("%s, %d bytes of %s, length %d: status %d %s", path, size, kind, length, a.status, a.body)
					}
					checkArrived(t, size, sum)
				}
			}
		}
	}
}

func TestG37HugeUploadStreamsThroughARouteThatNeedsNoBody(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	const size = 200 << 20
	a, sum := c.upload("/upload", generated(size, 1), size)
	checkPassed(t, a, 1000, 999)
	checkArrived(t, size, sum)
}

// TestG37UnreadableBodyIsCounted sends bodies in which no username can be read for certain: they count together, and for
// the address. Without a body the address counts alone.
func TestG37UnreadableBodyIsCounted(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "127.0.0.8")
	for name, tt := range map[string]struct {
		body string
		h    []string
	}{
		"gzip":      {"\x1f\x8b\x08hush", []string{"content-type", "application/json", "content-encoding", "gzip"}},
		"multipart": {"--b\r\ncontent-disposition: form-data; name=\"username\"\r\n\r\nhush\r\n--b--", []string{"content-type", "multipart/form-data; boundary=b"}},
		"cut off":   {`{"username":"hush-a`, []string{"content-type", "application/json"}},
		"too large": {`{"username":"hush-a","x":"` + strings.Repeat("x", 20000) + `"}`, []string{"content-type", "application/json"}},
		"twice":     {`{"username":"hush-a","username":"hush-b"}`, []string{"content-type", "application/json"}},
		"no body":   {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			a := c.send("POST", "/login", tt.body, tt.h...)
			if a.status != http.StatusOK {
				t.Errorf("status %d %s", a.status, a.body)
			}
			want := []string{"rl:{POST:/login|ip:127.0.0.8}"}
			if tt.body != "" {
				want = append(want, "rl:{POST:/login|username:#unread}")
			}
			if err := differ(want, keysNow(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestG37JSONIsReadInAnyPieces(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	got := statuses(3, func(i int) answer {
		pieces := [][]string{{`{"user`, `name" : "hush-`, `frank"}`}, {`{"username" : "h`, `ush-frank"}`}, {`{"username":"hush-frank"}`}}[i]
		conn := c.connect()
		fmt.Fprint(conn, "POST /once HTTP/1.1\r\nhost: a\r\ncontent-type: application/json; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n")
		for _, piece := range pieces {
			fmt.Fprintf(conn, "%x\r\n%s\r\n", len(piece), piece)
		}
		fmt.Fprint(conn, "0\r\n\r\n")
		return c.receive(conn)
	})
	if err := differ(passThenRefuse(1, 3), got); err != nil {
		t.Error(err)
	}
}

func TestG34RefusedUploadIsNotSeenByTheUpstream(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	login := `{"username":"hush-grace"}`
	c.send("POST", "/once", login, "content-type", "application/json")
	c.send("POST", "/once", "unreadable")
	c.send("POST", "/one", "by address")
	upstream.get(t).Reset()
	const large = 1 << 20
	for name, tt := range map[string]struct {
		path   string
		body   io.Reader
		length int64
	}{
		"no body is needed":                 {"/one", generated(large, 0), large},
		"chunked, no body is needed":        {"/one", generated(large, 0), -1},
		"by the body":                       {"/once", strings.NewReader(login), int64(len(login))},
		"chunked, by the body":              {"/once", strings.NewReader(login), -1},
		"larger than what is read":          {"/once", generated(large, 0), large},
		"chunked, larger than what is read": {"/once", generated(large, 0), -1},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := c.stream(t.Context(), "POST", tt.path, tt.body, tt.length, "content-type", "application/json")
			if err != nil {
				t.Fatal(err)
			}
			checkRefused(t, a, 1, 2*day)
			if n := upstream.get(t).Started(); n != 0 {
				t.Errorf("the upstream saw %d requests", n)
			}
		})
	}
}

func TestBodyThatComesByteByByteIsReadAndArrives(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	body := `{"username":"hush-heidi","x":"` + strings.Repeat("x", 500) + `"}`
	conn := c.connect()
	fmt.Fprintf(conn, "POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", len(body))
	for i := range len(body) { // Go sends each at once (TCP_NODELAY)
		fmt.Fprint(conn, body[i:i+1])
	}
	if a := c.receive(conn); a.status != http.StatusOK {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	checkArrived(t, int64(len(body)), sha(body))
	if want := "rl:{POST:/login|username:" + hashed("hush-heidi") + "}"; !slices.Contains(keysNow(t), want) {
		t.Errorf("keys %q, want %q", keysNow(t), want)
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var stalls = listen("stalls", `{
	"body": {"timeout": "300ms"},
	"identities": {"username": {"from": "body:username", "secret": true}},
	"default": {"on_error": "closed", "identity": "username", "limit": 1, "window": "24h"}}`)

// TestBodyThatStallsIsDecidedWithout sends a part of a body and then nothing until the policy's body timeout is over.
func TestBodyThatStallsIsDecidedWithout(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, stalls, "127.0.0.9")
	body := `{"username":"hush-ivan"}`
	stall := func() net.Conn {
		conn := c.connect()
		fmt.Fprintf(conn, "POST /once HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(body), body[:5])
		return conn
	}
	conn := stall()
	eventually(t, "the request goes on", func() error {
		if n := upstream.get(t).Started(); n != 1 {
			return fmt.Errorf("the upstream saw %d requests", n)
		}
		return nil
	})
	fmt.Fprint(conn, body[5:])
	if a := c.receive(conn); a.status != http.StatusOK {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	checkArrived(t, int64(len(body)), sha(body))
	if err := differ([]string{"rl:{default|username:#unread}"}, keysNow(t)); err != nil {
		t.Error(err)
	}

	checkRefused(t, c.receive(stall()), 1, 2*day) // the rest is never sent
	if n := upstream.get(t).Started(); n != 1 {
		t.Errorf("the upstream saw %d requests, want the first alone", n)
	}
}
