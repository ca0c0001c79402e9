package hosttest

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errNotConnected marks the error of a connection that never came about.
var errNotConnected = errors.New("not connected")

const dialTimeout = 2 * time.Second

// connection is a TCP connection that never blocks its user: it connects,
// writes and reads in goroutines of its own, as Envoy does in its event loop.
type connection struct {
	mu     sync.Mutex
	ready  sync.Cond // queue or done has changed
	queue  []byte
	done   bool
	socket net.Conn
}

// dial returns at once. read is called with what arrives, and last with how the
// connection ended, until it returns false.
func dial(address string, read func(b []byte, err error) bool) *connection {
	c := &connection{}
	c.ready.L = &c.mu
	go c.run(address, read)
	return c
}

// send queues bytes to be written, however many.
func (c *connection) send(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, b...)
	c.ready.Signal()
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	c.ready.Signal()
	if c.socket != nil {
		c.socket.Close()
	}
}

func (c *connection) run(address string, read func(b []byte, err error) bool) {
	socket, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		read(nil, fmt.Errorf("%w: %w", errNotConnected, err))
		return
	}
	c.mu.Lock()
	c.socket = socket
	closed := c.done
	c.mu.Unlock()
	if closed {
		socket.Close()
	}
	go c.write(socket)
	for {
		b := make([]byte, 16<<10)
		n, err := socket.Read(b)
		if n > 0 && !read(b[:n], nil) {
			return
		}
		if err != nil {
			read(nil, err)
			return
		}
	}
}

func (c *connection) write(socket net.Conn) {
	for {
		b, ok := c.next()
		if !ok {
			return
		}
		if _, err := socket.Write(b); err != nil {
			return // the reader meets the same end and reports it
		}
	}
}

// next waits for bytes to write.
func (c *connection) next() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.done {
		c.ready.Wait()
	}
	b := c.queue
	c.queue = nil
	return b, !c.done
}
