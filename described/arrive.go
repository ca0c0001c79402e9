package described

import (
	"fmt"
	"net/netip"
	"strings"

	"routelimit/bootstrap"
)

// Arrive sets the client's address, and X-Forwarded-For as Envoy leaves it. from is who connects, with or without a port;
// front is what Envoy does before the filter, nil where that is not known.
func (r *Request) Arrive(from string, front *bootstrap.Front) error {
	peer, err := parsePeer(from)
	if err != nil {
		return err
	}
	if front == nil {
		r.Properties["source\x00address"] = peer.String()
		return nil
	}
	named, _ := r.Header(front.ClientHeader, 0)
	r.Properties["source\x00address"] = front.Source(peer, r.forwardedFor(), named).String()
	if front.Appends() {
		r.Headers = append(r.Headers, [2]string{"x-forwarded-for", peer.Addr().String()})
	}
	return nil
}

func (r *Request) forwardedFor() []string {
	var entries []string
	for line := 0; ; line++ {
		value, ok := r.Header("x-forwarded-for", line)
		if !ok {
			return entries
		}
		for entry := range strings.SplitSeq(value, ",") {
			entries = append(entries, strings.TrimSpace(entry))
		}
	}
}

// somePort is the peer's where none is given.
const somePort = 50000

func parsePeer(from string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(from); err == nil {
		return netip.AddrPortFrom(address, somePort), nil
	}
	peer, err := netip.ParseAddrPort(from)
	if err != nil {
		return peer, fmt.Errorf("%q is no address; write one such as 203.0.113.7 or [2001:db8::7]:50000", from)
	}
	return peer, nil
}
