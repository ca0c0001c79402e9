package bootstrap

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Address is where Envoy listens.
type Address struct {
	Name string // of the listener; "admin" for the admin page
	Host string
	Port int
}

// Addresses are the TCP addresses of all listeners and of the admin page. Internal listeners and sockets have none.
func (c *Config) Addresses() []Address {
	var list []Address
	add := func(name string, address any) {
		port := number(entry(address, "socket_address", "port_value"))
		if host := text(address, "socket_address", "address"); host != "" {
			list = append(list, Address{Name: name, Host: host, Port: port})
		}
	}
	for _, l := range c.all("listeners") {
		add(text(l, "name"), l["address"])
	}
	add("admin", entry(c.root, "admin", "address"))
	return list
}

// number is 0 for what is no whole number.
func number(value any) int {
	n, _ := strconv.Atoi(fmt.Sprint(value))
	return n
}

// SetListener moves a listener to a TCP address. Port 0: one that the system chooses.
func (c *Config) SetListener(name, host string, port int) error {
	l, err := c.Listener(name)
	if err != nil {
		return err
	}
	l["address"] = socketAddress(host, port)
	return nil
}

// SetAdmin moves the admin page to a TCP address. Port 0: one that the system chooses.
func (c *Config) SetAdmin(host string, port int) {
	admin, ok := c.root["admin"].(map[string]any)
	if !ok {
		admin = map[string]any{}
		c.root["admin"] = admin
	}
	admin["address"] = socketAddress(host, port)
}

// SetEndpoints makes a cluster lead to these addresses: host:port, or the path of a unix socket.
func (c *Config) SetEndpoints(cluster string, addrs ...string) error {
	cl, err := c.Cluster(cluster)
	if err != nil {
		return err
	}
	var endpoints []any
	byName := false
	for _, addr := range addrs {
		address, err := upstreamAddress(addr)
		if err != nil {
			return err
		}
		if host := text(address, "socket_address", "address"); host != "" && net.ParseIP(host) == nil {
			byName = true
		}
		endpoints = append(endpoints, map[string]any{"endpoint": map[string]any{"address": address}})
	}
	if byName && cl["cluster_type"] == nil {
		cl["type"] = "STRICT_DNS" // a static cluster takes addresses only
		// Where a name has addresses of both families, Envoy would ask for the
		// IPv6 one, which a server bound to 127.0.0.1 does not answer.
		cl["dns_lookup_family"] = "V4_PREFERRED"
	}
	cl["load_assignment"] = map[string]any{
		"cluster_name": cluster,
		"endpoints":    []any{map[string]any{"lb_endpoints": endpoints}},
	}
	return nil
}

// SetUpstream makes what is protected live at host:port.
func (c *Config) SetUpstream(addr string) error { return c.SetEndpoints(UpstreamCluster, addr) }

func upstreamAddress(addr string) (map[string]any, error) {
	if strings.HasPrefix(addr, "/") {
		return map[string]any{"pipe": map[string]any{"path": addr}}, nil
	}
	host, portText, err := net.SplitHostPort(addr)
	port, numErr := strconv.Atoi(portText)
	if err != nil || numErr != nil || host == "" || port < 1 || port > 65535 {
		return nil, fmt.Errorf("%q is no address; write host:port, or the path of a unix socket", addr)
	}
	return socketAddress(host, port), nil
}

func socketAddress(host string, port int) map[string]any {
	return map[string]any{"socket_address": map[string]any{"address": host, "port_value": port}}
}
