package chaos

import (
	"io"
	"net"
	"net/http"
	"sync"
)

// upstream is what is protected. It counts how often it has seen each request.
type upstream struct {
	addr   string
	server *http.Server

	mutex sync.Mutex
	seen  map[string]int // by x-request-number
	bytes map[string]int64
}

func startUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &upstream{addr: l.Addr().String(), seen: map[string]int{}, bytes: map[string]int64{}}
	u.server = &http.Server{Handler: u}
	go u.server.Serve(l) // returns when stop closes the server
	return u, nil
}

const numberHeader = "x-request-number"

func (u *upstream) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	number := r.Header.Get(numberHeader)
	u.mutex.Lock()
	u.seen[number]++
	u.mutex.Unlock()
	n, _ := io.Copy(io.Discard, r.Body) // a client that left is counted all the same
	u.mutex.Lock()
	u.bytes[number] += n
	u.mutex.Unlock()
}

// saw is how often a request came, and how much of its body.
func (u *upstream) saw(number string) (times int, bytes int64) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.seen[number], u.bytes[number]
}
