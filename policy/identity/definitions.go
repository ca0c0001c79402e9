package identity

import (
	"maps"
	"net/netip"
	"slices"
)

// Definitions are the components and the settings of one configuration. They
// never change, and several goroutines may use them.
type Definitions struct {
	components map[string]*Component
	client     Client
	hash       hasher
}

// NewDefinitions takes components with different names, each of which passed
// CheckName. With a hashKey secrets are hashed by HMAC-SHA-256, without one by
// SHA-256, which hides only what cannot be guessed.
func NewDefinitions(components []Component, client Client, hashKey []byte) *Definitions {
	d := &Definitions{
		components: make(map[string]*Component, len(components)),
		client:     client,
		hash:       newHasher(hashKey),
	}
	for _, c := range components {
		d.components[c.Name] = &c
	}
	return d
}

// ClientIP gives the client's address, whole, IPv4-mapped IPv6 as IPv4. It is
// false if there is none: the peer is a unix socket or hidden, or a proxy of
// ours wrote something else.
func (d *Definitions) ClientIP(r *Request) (netip.Addr, bool) {
	if !r.addressKnown {
		r.address, r.addressKnown = d.client.address(r.Attrs), true
	}
	return r.address, r.address.IsValid()
}

// Client returns how the client's address is found.
func (d *Definitions) Client() Client { return d.client }

// names lists every name that an expression may use, sorted.
func (d *Definitions) names() []string {
	known := slices.AppendSeq([]string{nameAll, nameIP}, maps.Keys(d.components))
	slices.Sort(known)
	return known
}
