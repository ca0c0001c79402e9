package identity

import "strconv"

// TracedClient is how the client's address was found.
type TracedClient struct {
	Address string // whole; "" if there is none
	From    string
}

// TraceClient finds the client's address as ClientIP does and tells where.
func (d *Definitions) TraceClient(r *Request) TracedClient {
	own := Request{Attrs: r.Attrs}
	address, ok := d.ClientIP(&own)
	t := TracedClient{From: d.client.origin(r.Attrs)}
	if ok {
		t.Address = address.String()
	}
	return t
}

// origin says where the address is taken from; see [Client.address].
func (c Client) origin(attrs Attributes) string {
	if c.TrustedHops > 0 {
		entry := "entry " + strconv.Itoa(c.TrustedHops) + " from the right of x-forwarded-for"
		if hop, ok := forwardedHop(attrs, c.TrustedHops); ok {
			if addr, _ := parseHop(hop); !addr.IsValid() {
				return entry + ", which is no address"
			}
			return entry
		}
	}
	source, ok := attrs.Property("source\x00address")
	if !ok {
		return "source.address, which Envoy does not know"
	}
	if c.TrustedHops < 0 {
		return "source.address, whom Envoy trusts, since client.trusted_hops is not set"
	}
	why := "client.trusted_hops is 0"
	if c.TrustedHops > 0 {
		why = "x-forwarded-for has fewer than " + strconv.Itoa(c.TrustedHops) + " entries"
	}
	if _, port := parseHop(stringOf(source)); port == 0 {
		return "source.address, which hides the peer (its port is 0); " + why
	}
	return "source.address, the peer, since " + why
}
