package identity

import (
	"net/netip"
	"strconv"
	"strings"
)

// Client says how the client's address is found.
type Client struct {
	// TrustedHops is the number of the operator's own proxies that appended
	// to X-Forwarded-For as this filter sees it: the client is so many entries
	// from the right. 0 ignores the header. A negative number is "not set":
	// then the client is whom Envoy itself trusts (source.address).
	TrustedHops int

	// IPv6Prefix is how many bits of an IPv6 address are one client, 0 for
	// the usual 64. IPv4 addresses stay whole.
	IPv6Prefix int
}

// address finds the client's address, the zero Addr if there is none.
func (c Client) address(attrs Attributes) netip.Addr {
	if c.TrustedHops > 0 {
		if hop, ok := forwardedHop(attrs, c.TrustedHops); ok {
			// A hop that is no address was still written by a proxy of ours:
			// whoever stands behind it is unknown, and not that proxy.
			addr, _ := parseHop(hop)
			return addr
		}
	}
	source, ok := attrs.Property("source\x00address")
	if !ok {
		return netip.Addr{}
	}
	addr, port := parseHop(stringOf(source))
	if c.TrustedHops >= 0 && port == 0 {
		// Envoy took this address from X-Forwarded-For itself, where the
		// caller may have written it, and hides its peer.
		return netip.Addr{}
	}
	return addr
}

// forwardedHop gives the n-th entry from the right of all X-Forwarded-For
// lines together. Empty entries do not count.
func forwardedHop(attrs Attributes, n int) (string, bool) {
	const name = "x-forwarded-for"
	lines := 0
	for {
		if _, ok := attrs.Header(name, lines); !ok {
			break
		}
		lines++
	}
	for line := lines - 1; line >= 0; line-- {
		hops, _ := attrs.Header(name, line)
		for more := true; more; {
			comma := strings.LastIndexByte(hops, ',')
			hop := trimBlanks(hops[comma+1:])
			if more = comma >= 0; more {
				hops = hops[:comma]
			}
			if hop == "" {
				continue
			}
			if n--; n == 0 {
				return hop, true
			}
		}
	}
	return "", false
}

// parseHop reads an address with or without a port: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, [2001:db8::1], [2001:db8::1]:80. The port is 0 if there is
// none, the address the zero Addr if it cannot be read. An IPv4 address mapped
// into IPv6 comes out as IPv4, and a zone is dropped.
func parseHop(hop string) (netip.Addr, uint16) {
	host, port := hop, ""
	if inner, ok := strings.CutPrefix(hop, "["); ok {
		var rest string
		if host, rest, ok = strings.Cut(inner, "]"); !ok {
			return netip.Addr{}, 0
		}
		if port, ok = strings.CutPrefix(rest, ":"); !ok && rest != "" {
			return netip.Addr{}, 0
		}
	} else if strings.Count(hop, ":") == 1 {
		host, port, _ = strings.Cut(hop, ":")
	}
	var number uint64
	if port != "" {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil {
			return netip.Addr{}, 0
		}
	}
	// Cut here, since netip would keep every zone that it ever saw.
	host, _, _ = strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, 0
	}
	return addr.Unmap(), uint16(number)
}

// appendAddress appends what of an address is one client, an IPv6 prefix with
// its length.
func (c Client) appendAddress(dst []byte, addr netip.Addr) []byte {
	bits := c.IPv6Prefix
	if bits == 0 {
		bits = 64
	}
	if addr.Is4() || bits >= addr.BitLen() {
		return addr.AppendTo(dst)
	}
	prefix, err := addr.Prefix(bits)
	if err != nil { // a negative length; the configuration is checked elsewhere
		return addr.AppendTo(dst)
	}
	return prefix.AppendTo(dst)
}
