package servers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Seen is what the upstream got of one request, and what it echoes as JSON.
type Seen struct {
	Method  string      `json:"method"`
	Host    string      `json:"host"`
	Path    string      `json:"path"` // with the query, as it came
	Proto   string      `json:"proto"`
	Header  http.Header `json:"headers"`
	Trailer http.Header `json:"trailers,omitempty"`
	Bytes   int64       `json:"bytes"`  // of the body
	SHA256  string      `json:"sha256"` // of the body, in hex
	// Error says why the body did not arrive whole; "" if it did.
	Error string `json:"error,omitempty"`
	// Head is the body's beginning, up to 64 KiB. Only a Status function sees it.
	Head []byte `json:"-"`
}

const (
	headBytes  = 64 << 10 // of a body, shown to a Status function
	remembered = 1024     // newest requests that are kept
)

// UpstreamOptions says how an upstream answers.
type UpstreamOptions struct {
	Addr string // "": 127.0.0.1 and a free port
	// Status chooses the answer's status code; nil: StatusByRequest.
	Status func(*Seen) int
	// Header is added to every answer.
	Header http.Header
}

// Upstream is an HTTP/1.1 and h2c server in this program that remembers what it was sent and echoes it as JSON.
type Upstream struct {
	options UpstreamOptions
	server  *http.Server
	addr    string

	mu      sync.Mutex
	count   int
	started int
	newest  [remembered]Seen // a ring: request n is at n % remembered
}

// StartUpstream listens and serves. A taken address is a *PortInUseError.
func StartUpstream(o UpstreamOptions) (*Upstream, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Status == nil {
		o.Status = StatusByRequest
	}
	l, err := net.Listen("tcp", o.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		at := err.(*net.OpError).Addr.(*net.TCPAddr)
		return nil, &PortInUseError{Host: at.IP.String(), Port: at.Port}
	}
	if err != nil {
		return nil, fmt.Errorf("the upstream cannot listen on %s: %w; choose another address", o.Addr, err)
	}
	u := &Upstream{options: o, addr: l.Addr().String()}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	u.server = &http.Server{Handler: u, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second}
	go u.server.Serve(l) // returns when Stop closes the server
	return u, nil
}

// StatusByRequest answers with the number in the header x-want-status, else with the last segment of a path such as
// /status/401, else with 200.
func StatusByRequest(s *Seen) int {
	for _, text := range []string{s.Header.Get("x-want-status"), afterStatus(s.Path)} {
		if code, err := strconv.Atoi(text); err == nil && code >= 200 && code <= 599 {
			return code
		}
	}
	return http.StatusOK
}

func afterStatus(path string) string {
	path, _, _ = strings.Cut(path, "?")
	_, text, _ := strings.Cut(path, "/status/")
	return text
}

// ServeHTTP records a request and answers it.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.started++
	u.mu.Unlock()

	seen := read(r)

	status := u.options.Status(&seen)
	seen.Head = nil

	u.mu.Lock()
	u.newest[u.count%remembered] = seen
	u.count++
	u.mu.Unlock()

	for name, values := range u.options.Header {
		w.Header()[name] = values
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return
	}
	json.NewEncoder(w).Encode(seen) // fails only when the caller has gone
}

// read takes a request in whole, so its trailers are known.
func read(r *http.Request) Seen {
	seen := Seen{Method: r.Method, Host: r.Host, Path: r.RequestURI, Proto: r.Proto, Header: r.Header}
	sum := sha256.New()
	head, err := io.ReadAll(io.TeeReader(io.LimitReader(r.Body, headBytes), sum))
	rest := int64(0)
	if err == nil {
		rest, err = io.Copy(sum, r.Body)
	}
	if err != nil {
		seen.Error = err.Error()
	}
	seen.Head, seen.Trailer = head, r.Trailer
	seen.Bytes, seen.SHA256 = int64(len(head))+rest, hex.EncodeToString(sum.Sum(nil))
	return seen
}

// Addr is host:port.
func (u *Upstream) Addr() string { return u.addr }

// URL is http://host:port.
func (u *Upstream) URL() string { return "http://" + u.addr }

// Count is the number of requests whose end was reached, whole or cut off.
func (u *Upstream) Count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

// Started is the number of requests whose head arrived: what a refused request must not add to.
func (u *Upstream) Started() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.started
}

// Requests are the newest 1024 requests, oldest first.
func (u *Upstream) Requests() []Seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []Seen
	for n := max(0, u.count-remembered); n < u.count; n++ {
		list = append(list, u.newest[n%remembered])
	}
	return list
}

// Reset forgets everything.
func (u *Upstream) Reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count, u.started, u.newest = 0, 0, [remembered]Seen{}
}

// Stop closes the listener and all connections.
func (u *Upstream) Stop() { u.server.Close() }
