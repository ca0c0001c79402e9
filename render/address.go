package render

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

func isSocket(addr string) bool { return strings.HasPrefix(addr, "/") }

// address reads host:port, or the path of a unix socket.
func address(addr string) (*corev3.Address, error) {
	if isSocket(addr) {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: addr}}}, nil
	}
	a, err := socketAddress(addr)
	if err == nil && a.GetSocketAddress().GetPortValue() == 0 {
		err = notAnAddress(addr)
	}
	return a, err
}

// socketAddress reads host:port, where port 0 is one that the system chooses.
func socketAddress(addr string) (*corev3.Address, error) {
	host, portText, err := net.SplitHostPort(addr)
	port, numErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || numErr != nil || host == "" || strings.ContainsFunc(host, isOdd) {
		return nil, notAnAddress(addr)
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}, nil
}

func isOdd(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/?#@,`, r) }

func notAnAddress(addr string) error {
	return fmt.Errorf("%q is no address; write host:port, or the path of a unix socket", addr)
}

// endpoints lead to addresses that have been checked.
func endpoints(cluster string, addrs ...string) *endpointv3.ClusterLoadAssignment {
	group := &endpointv3.LocalityLbEndpoints{}
	for _, addr := range addrs {
		a, err := address(addr)
		if err != nil {
			panic(err) // it was checked
		}
		group.LbEndpoints = append(group.LbEndpoints, endpoint(a))
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*endpointv3.LocalityLbEndpoints{group}}
}

func endpoint(a *corev3.Address) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: a}}}
}

// resolve makes a cluster look its endpoints' names up, if they are names.
func resolve(c *clusterv3.Cluster, addrs ...string) {
	for _, host := range hosts(addrs) {
		if _, err := netip.ParseAddr(host); err != nil {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
			// Where a name has addresses of both families, Envoy would ask for the IPv6 one, which a server bound to
			// 127.0.0.1 does not answer.
			c.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
		}
	}
}
