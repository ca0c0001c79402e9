package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Ports for servers that cannot choose one themselves. They lie below the range from which Linux takes the local ports
// of outgoing connections (32768 on), and so does each of them plus 10000, a Redis Cluster node's bus port: the kernel
// does not take a port between the moment it was found free and the moment the server binds it.
const (
	firstPort = 11000
	lastPort  = 22700
	busOffset = 10000
)

var given struct {
	sync.Mutex
	ports map[int]bool
}

// FreePort finds a loopback TCP port that is free, together with the port 10000 above it, and that was not handed out
// before by this program. Another program can still take it first, so the Start… functions try again with another one
// if their server finds it taken.
func FreePort() (int, error) {
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if given.ports[port] || CheckPort("127.0.0.1", port) != nil || CheckPort("127.0.0.1", port+busOffset) != nil {
			continue
		}
		given.ports[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d; end some of the servers that listen there", firstPort, lastPort)
}

// PortInUseError says that somebody listens on an address already.
type PortInUseError struct {
	Host string
	Port int
}

func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d on %s is in use; end the program that listens there or choose another port", e.Port, e.Host)
}

// CheckPort tries to listen on a TCP address and lets go of it again. The error is a *PortInUseError if another socket
// holds it. Envoy would not notice: it sets SO_REUSEPORT, so two Envoys share a port and each gets half the requests.
func CheckPort(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortInUseError{Host: host, Port: port}
	}
	if err != nil {
		return fmt.Errorf("cannot listen on port %d of %s: %w; choose another address or port", port, host, err)
	}
	return l.Close()
}

// Loopback is the address of a port of this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
