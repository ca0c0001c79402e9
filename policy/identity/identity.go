// Package identity finds out who is calling: it reads the components that an
// operator named (an address, a header, a claim, a form field) from one
// request and writes them as the part of a Redis key that tells callers apart.
//
// Everything that a caller can send is hostile here. Two different callers
// never get one key, one caller cannot get many keys by spelling a name
// differently where "fold" is set, and no value makes a key grow without
// bound. A value that cannot be read for certain is missing, or, if it would
// be the body's, one value shared by all such requests (see Expr.Append).
// Noted says why, so that the operator can count it.
package identity

import (
	"net/netip"

	"routelimit/policy/route"
)

// Attributes is what identities may ask of one request. The filter answers
// from the proxy, tests from a table. Strings and bytes need to stay valid
// only until the current callback ends: what is kept is copied.
type Attributes interface {
	// Header gives the line-th line, counted from 0, of a header, whose name
	// is in lower case.
	Header(name string, line int) (value string, ok bool)

	// Property gives the value of an Envoy attribute. The elements of its
	// path are joined by NUL: "source\x00address".
	Property(path string) (value []byte, ok bool)
}

// Body is the request's body as far as it was read.
type Body struct {
	Bytes []byte

	// Complete is false if the body was cut at the cap, timed out or broke
	// off. No identity is read from such a body, since the rest of it could
	// name another one.
	Complete bool
}

// Request is one request as identities see it. It serves one request only:
// it remembers the client's address once that was found.
type Request struct {
	Attrs  Attributes
	Body   *Body         // nil: the request has none, or none was waited for
	Params []route.Param // the parameters of the matched route
	Noted  Noted         // what was odd, collected by Append

	address      netip.Addr
	addressKnown bool
}

// Noted is a set of oddities that are worth a counter.
type Noted uint8

const (
	// NoIdentity: nothing that the expression lists was present, so the
	// address stood in, or, without an address, one bucket shared by all.
	NoIdentity Noted = 1 << iota
	// Ambiguous: a header, cookie, parameter or field occurred twice. Since
	// upstreams differ in which one they read, it was treated as missing, or,
	// in a body, as unread.
	Ambiguous
	// Oversized: a value was longer than a key may hold, a hash stood in.
	Oversized
	// BodyUnread: there was a body, but none that can be read for certain:
	// incomplete, compressed, of another type, or not valid. Where no
	// alternative was present, one bucket for all such bodies stood in.
	BodyUnread
	// CostUnread: the header that gives a request's cost was missing, repeated
	// or no positive whole number, and 1 counted.
	CostUnread
	// PlanUnknown: a limit's value for the caller's plan is not known, and the
	// default held.
	PlanUnknown
)

// Has reports whether n contains every bit of other.
func (n Noted) Has(other Noted) bool { return n&other == other }
