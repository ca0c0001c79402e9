package integration

import (
	"io"
	"net"
	"strconv"
	"testing"

	"routelimit/servers"
)

// natAddress is where the nodes of a Cluster behind NAT are seen from outside. None of them listens there.
const natAddress = "127.0.0.9"

// putBehindNAT makes the nodes of a Cluster announce other addresses than those that they listen on, and leads from each to
// its node, as address translation does. It returns those for clients.
func putBehindNAT(t *testing.T, c *servers.Cluster) (outside []string) {
	t.Helper()
	const busOffset = 10_000
	for _, node := range c.Nodes {
		host, text, err := net.SplitHostPort(node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		client := translate(t, node.Addr())
		bus := translate(t, net.JoinHostPort(host, strconv.Itoa(port+busOffset)))
		for _, setting := range [][2]string{
			{"cluster-announce-ip", natAddress}, {"cluster-announce-port", strconv.Itoa(client.Port)}, {"cluster-announce-bus-port", strconv.Itoa(bus.Port)},
		} {
			if err := node.Client().ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
				t.Fatal(err)
			}
		}
		outside = append(outside, client.String())
	}
	eventually(t, "every node announces its outer address to all others", func() error { return announced(t, c, outside) })
	return outside
}

// announced says what a node still tells of where the Cluster's slots are.
func announced(t *testing.T, c *servers.Cluster, outside []string) error {
	known := map[string]bool{}
	for _, addr := range outside {
		known[addr] = true
	}
	for _, node := range c.Nodes {
		slots, err := node.Client().ClusterSlots(t.Context()).Result()
		if err != nil {
			return err
		}
		for _, s := range slots {
			for _, n := range s.Nodes {
				if !known[n.Addr] {
					return &net.AddrError{Err: "is told by " + node.Addr() + ", and is no outer address", Addr: n.Addr}
				}
			}
		}
	}
	return nil
}

// translate listens at the outer address and carries bytes to another one.
func translate(t *testing.T, to string) *net.TCPAddr {
	t.Helper()
	listener, err := net.Listen("tcp", natAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			go carry(outer, to)
		}
	}()
	return listener.Addr().(*net.TCPAddr)
}

func carry(outer net.Conn, to string) {
	defer outer.Close()
	inner, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer inner.Close()
	go func() {
		io.Copy(inner, outer)
		inner.Close()
	}()
	io.Copy(outer, inner)
}
