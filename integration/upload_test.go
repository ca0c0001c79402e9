package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"routelimit/servers"
)

// uploads has a route of each kind: without limits, limited without the body, and limited by something in the body.
var uploads = listen("uploads", `{
	"body": {"timeout": "300ms"},
	"identities": {"username": {"from": "body:username", "fold": true, "secret": true}},
	"routes": {
		"POST /free":  {"limits": []},
		"POST /login": {"on_error": "closed", "limits": [
			{"name": "account", "identity": "username", "limit": 1000, "window": "24h"},
			{"name": "address", "identity": "ip", "limit": 1000, "window": "24h"}]},
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

// TestG37UnreadableBodyIsCounted sends bodies in which no username can be read for certain: they count for the address.
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
			got := keysNow(t)
			if err := differ([]string{"rl:{POST:/login|ip:127.0.0.8}"}, got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestG37JSONIsReadInAnyPieces(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	got := statuses(3, func(i int) answer {
		pieces := []string{`{"user`, `name" : "hush-`, `frank"}`}[:3-i] // three pieces, two, one: always the same text
		pieces[len(pieces)-1] = strings.Join([]string{`{"user`, `name" : "hush-`, `frank"}`}[len(pieces)-1:], "")
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
	body := `{"username":"hush-grace","x":"` + strings.Repeat("x", 9000) + `"}`
	c.send("POST", "/once", body, "content-type", "application/json")
	upstream.get(t).Reset()
	for name, size := range map[string]int{"whole": len(body), "larger than Envoy's buffer": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			// Of a length unknown, so that the start of the body is read in any case.
			padded := io.MultiReader(strings.NewReader(body), generated(int64(size-len(body)), 0))
			if size > len(body) {
				padded = bytes.NewReader(append([]byte(`{"username":`), make([]byte, size)...)) // by address: not refused yet
			}
			a, err := c.stream(t.Context(), "POST", "/once", padded, -1, "content-type", "application/json")
			if size > len(body) {
				a, err = c.stream(t.Context(), "POST", "/once", generated(int64(size), 0), -1)
			}
			if err != nil || a.status != http.StatusTooManyRequests {
				t.Errorf("status %d, %v", a.status, err)
			}
		})
	}
}
