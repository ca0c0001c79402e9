package load

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

// conn is one connection, with at most one message of requests on its way.
type conn struct {
	addr  string
	index int             // by which epoll names it
	fd    int             // 0: closed
	sent  []time.Duration // when each request that is on its way was to be sent; none: it is free
	queue []time.Duration // the same of those that wait for this connection
	since time.Duration   // since when it is busy, or free

	out, in        []byte
	read, answered int // what of in and sent is done
}

func (c *conn) busy() bool { return len(c.sent) > 0 }

var errClosed = errors.New("a connection was closed by the server; look into its log")

// open connects and registers the connection.
func (c *conn) open(poll int) error {
	addr, err := netip.ParseAddrPort(c.addr)
	if err != nil || !addr.Addr().Is4() {
		return fmt.Errorf("%q is no IPv4 address with a port; give one such as 127.0.0.1:10000", c.addr)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("no socket for connection %d: %w; raise the limit of open files (ulimit -n)", c.index+1, err)
	}
	c.fd = fd
	// A message is written whole or not at all: it fits, since nothing else is on its way.
	for option, value := range map[[2]int]int{
		{syscall.SOL_SOCKET, syscall.SO_SNDBUF}:    256 << 10,
		{syscall.IPPROTO_TCP, syscall.TCP_NODELAY}: 1,
	} {
		if err := syscall.SetsockoptInt(fd, option[0], option[1], value); err != nil {
			return fmt.Errorf("a socket cannot be set up: %w; run on Linux", err)
		}
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}); err != nil {
		return fmt.Errorf("cannot connect to %s: %w; see whether it still runs", c.addr, err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("a socket cannot be set up: %w; run on Linux", err)
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.index)}
	if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll does not take a socket: %w; run on Linux", err)
	}
	return nil
}

func (c *conn) close() {
	if c.fd != 0 {
		syscall.Close(c.fd)
		c.fd = 0
	}
}

// send sends requests that were due at these times, in one message.
func (c *conn) send(p Protocol, now time.Duration, due ...time.Duration) error {
	c.sent, c.since = append(c.sent[:0], due...), now
	c.in, c.read, c.answered = c.in[:0], 0, 0
	c.out = c.out[:0]
	for range due {
		c.out = p.Append(c.out)
	}
	return c.write()
}

func (c *conn) write() error {
	n, err := syscall.Write(c.fd, c.out)
	switch {
	case err == syscall.EPIPE || err == syscall.ECONNRESET:
		return fmt.Errorf("%s: %w", c.addr, errClosed)
	case err != nil:
		return fmt.Errorf("cannot write to %s: %w; look into its log", c.addr, err)
	case n < len(c.out):
		return fmt.Errorf("%s took %d of %d bytes; send less at once", c.addr, n, len(c.out))
	}
	return nil
}

// receive reads what has come. whole says that every request on its way is answered.
func (c *conn) receive(p Protocol) (whole, last bool, err error) {
	if cap(c.in)-len(c.in) < 4096 {
		c.in = append(make([]byte, 0, 2*cap(c.in)+16384), c.in...)
	}
	n, err := syscall.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return false, false, nil
	case err == syscall.ECONNRESET || err == nil && n == 0:
		return false, false, fmt.Errorf("%s: %w", c.addr, errClosed)
	case err != nil:
		return false, false, fmt.Errorf("cannot read from %s: %w; look into its log", c.addr, err)
	case !c.busy():
		return false, false, fmt.Errorf("%s sent what nobody asked for: %.60q; look into the limiter", c.addr, c.in[len(c.in):len(c.in)+n])
	}
	c.in = c.in[:len(c.in)+n]
	for c.answered < len(c.sent) {
		used, closes, err := p.Read(c.in[c.read:])
		if err != nil || used == 0 {
			return false, false, err
		}
		last = closes
		c.read += used
		c.answered++
	}
	if c.read < len(c.in) {
		return false, false, fmt.Errorf("%s sent more than was asked for: %.60q; look into the limiter", c.addr, c.in[c.read:])
	}
	return true, last, nil
}
