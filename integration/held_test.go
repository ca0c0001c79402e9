package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"routelimit/servers"
)

// sent is one upload and what came back.
type sent struct {
	name   string
	status int // that is due
	sum    string
	size   int64
	answer answer
	err    error
}

// start sends an upload in the background.
func (s *sent) start(group *sync.WaitGroup, c *client, path string, body io.Reader, length int64) {
	group.Go(func() {
		sum := sha256.New()
		s.answer, s.err = c.stream(context.Background(), "POST", path, io.TeeReader(body, sum), length, "content-type", "application/json")
		s.sum = hex.EncodeToString(sum.Sum(nil))
	})
}

// check compares what the upstream says it got with what was sent.
func (s *sent) check(t *testing.T) {
	t.Helper()
	var seen servers.Seen
	switch {
	case s.err != nil:
		t.Errorf("%s: %v", s.name, s.err)
	case s.answer.status != s.status:
		t.Errorf("%s: status %d %s, want %d", s.name, s.answer.status, s.answer.body, s.status)
	case s.status != http.StatusOK:
	case json.Unmarshal([]byte(s.answer.body), &seen) != nil || seen.Bytes != s.size || seen.SHA256 != s.sum || seen.Error != "":
		t.Errorf("%s: the upstream got %d bytes, hash %s, error %q; sent %d, hash %s", s.name, seen.Bytes, seen.SHA256, seen.Error, s.size, s.sum)
	}
}

// lengthOf is a known length, or -1 for a body in chunks.
func lengthOf(size int64, chunked bool) int64 {
	if chunked {
		return -1
	}
	return size
}

func TestG37HugeUploadOnARouteThatReadsTheBody(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	for _, size := range []int64{20 << 20, 200 << 20} {
		for _, chunked := range []bool{false, true} {
			s := &sent{name: fmt.Sprintf("%d bytes, chunked %v", size, chunked), status: http.StatusOK, size: size}
			var group sync.WaitGroup
			s.start(&group, c, "/login", generated(size, 7), lengthOf(size, chunked))
			group.Wait()
			s.check(t)
		}
	}
}

// TestG37G34BodiesThatComeWhileRedisIsAsked has Redis silent while bodies of every kind come in, as far as Envoy reads
// them. Then Redis answers. What passes arrives whole, and of what is refused the upstream sees nothing.
func TestG37G34BodiesThatComeWhileRedisIsAsked(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	used := func(path string) { c.send("POST", path, "used up", "content-type", "application/json") }
	used("/one")
	used("/once")
	upstream.get(t).Reset()
	received, requests := rx(t, e, "uploads"), stat(t, e, "http.uploads.downstream_rq_total")

	resume := pause(t)
	var group sync.WaitGroup
	var all []*sent
	passing := 0
	for path, status := range map[string]int{"/login": 200, "/upload": 200, "/once": 429, "/one": 429} {
		for _, size := range []int64{1, 16385, 300_000, 3_000_000} {
			for _, chunked := range []bool{false, true} {
				for protocol, make := range map[string]func() *client{
					"HTTP/1.1": func() *client { return dial(t, e, uploads, "") },
					"HTTP/2":   func() *client { return dial(t, e, uploads, "").http2() },
				} {
					s := &sent{name: fmt.Sprintf("%s %s, %d bytes, chunked %v", protocol, path, size, chunked), status: status, size: size}
					s.start(&group, make(), path, generated(size, 3), lengthOf(size, chunked))
					all = append(all, s)
					if status == http.StatusOK {
						passing++
					}
				}
			}
		}
	}
	eventually(t, "all requests have come", func() error {
		if n := stat(t, e, "http.uploads.downstream_rq_total") - requests; n != int64(len(all)) {
			return fmt.Errorf("%d requests of %d", n, len(all))
		}
		return nil
	})
	settled(t, func() int64 { return rx(t, e, "uploads") })
	if got := rx(t, e, "uploads") - received; got < 16384*int64(len(all))/2 {
		t.Errorf("Envoy has read no more than %d bytes of %d requests", got, len(all))
	}
	if n := upstream.get(t).Started(); n != 0 {
		t.Errorf("the upstream saw %d requests before any was decided", n)
	}
	resume()
	group.Wait()
	for _, s := range all {
		s.check(t)
	}
	if n := upstream.get(t).Started(); n != passing {
		t.Errorf("the upstream saw %d requests, want the %d that passed", n, passing)
	}
}

// rx is how many bytes Envoy has read from the clients of a listener.
func rx(t *testing.T, e *servers.Envoy, listener string) int64 {
	t.Helper()
	return stat(t, e, "http."+listener+".downstream_cx_rx_bytes_total")
}

// settled waits until a number has stayed the same for a while.
func settled(t *testing.T, number func() int64) {
	t.Helper()
	last, same := int64(-1), 0
	eventually(t, "nothing more comes", func() error {
		if now := number(); now != last {
			last, same = now, 0
		} else if same++; same > 20 {
			return nil
		}
		return errors.New("more still comes")
	})
}

// TestG37SlowClients sends bodies in pieces, each only when Envoy has read the one before.
func TestG37SlowClients(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, uploads, "")
	c.send("POST", "/once", "used up")
	upstream.get(t).Reset()
	for _, tt := range []struct {
		path           string
		pieces, length int // the size of a piece
		status         int
	}{
		{"/login", 5, 1, 200}, {"/login", 20, 4000, 200}, {"/login", 3, 40_000, 200}, {"/upload", 20, 4000, 200},
		{"/once", 5, 1, 429}, {"/once", 4, 4000, 429}, // decided at the end, and before it
	} {
		for _, chunked := range []bool{false, true} {
			name := fmt.Sprintf("%s in %d pieces of %d, chunked %v", tt.path, tt.pieces, tt.length, chunked)
			size := int64(tt.pieces * tt.length)
			s := &sent{name: name, status: tt.status, size: size}
			body, write := io.Pipe()
			var group sync.WaitGroup
			s.start(&group, dial(t, e, uploads, ""), tt.path, body, lengthOf(size, chunked))
			for range tt.pieces {
				before := rx(t, e, "uploads")
				if _, err := io.Copy(write, generated(int64(tt.length), 9)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				eventually(t, "the piece is read", func() error {
					if got := rx(t, e, "uploads") - before; got < int64(tt.length) {
						return fmt.Errorf("%d bytes of %d", got, tt.length)
					}
					return nil
				})
			}
			write.Close()
			group.Wait()
			s.check(t)
		}
	}
	if n := upstream.get(t).Started(); n != 8 {
		t.Errorf("the upstream saw %d requests, want the 8 that passed", n)
	}
}

// TestG37RandomUploads sends bodies of random sizes in random pieces, many at a time.
func TestG37RandomUploads(t *testing.T) {
	const uploadsInAll, atOnce = 96, 12
	e := fresh(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	clients := []*client{dial(t, e, uploads, ""), dial(t, e, uploads, "").http2()}
	for range uploadsInAll / atOnce {
		var group sync.WaitGroup
		var all []*sent
		for range atOnce {
			size := int64(math.Exp(random.Float64() * math.Log(2_500_000)))
			path := []string{"/login", "/login", "/upload"}[random.IntN(3)]
			chunked, protocol := random.IntN(2) == 0, random.IntN(2)
			s := &sent{name: fmt.Sprintf("%s, %d bytes, chunked %v, protocol %d", path, size, chunked, protocol), status: http.StatusOK, size: size}
			body := &inPieces{generated(size, byte(random.IntN(256))), rand.New(rand.NewPCG(random.Uint64(), 0))}
			s.start(&group, clients[protocol], path, body, lengthOf(size, chunked))
			all = append(all, s)
		}
		group.Wait()
		for _, s := range all {
			s.check(t)
		}
	}
}

// inPieces gives a random part of what is asked for.
type inPieces struct {
	io.Reader
	random *rand.Rand
}

func (p *inPieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:1+p.random.IntN(len(b))]) }
