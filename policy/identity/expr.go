package identity

// Expr is an identity: alternatives, of which the first counts whose
// components are all present. It never changes.
type Expr struct {
	text         string
	alternatives []alternative
	definitions  *Definitions
}

// alternative is components that are all needed.
type alternative struct {
	text  string // "ip+username"
	parts []part
}

// part is a declared component or a built-in one.
type part struct {
	name     string
	declared *Component // nil for a built-in one
}

// unknown stands in for the address where there is none.
const unknown = "unknown"

// String gives the expression as it was written.
func (e *Expr) String() string { return e.text }

// NeedsBody reports whether some component is read from the body.
func (e *Expr) NeedsBody() bool {
	for _, a := range e.alternatives {
		for _, p := range a.parts {
			if p.declared != nil && p.declared.Source.needsBody() {
				return true
			}
		}
	}
	return false
}

// Append appends the caller's part of the key, such as
// "ip:203.0.113.7|username:2bd806c97f0e00af", and says which alternative it
// comes from: "ip+username". No two callers get the same text, but for those
// whose secrets have the same hash.
//
// Where no alternative is present, a body that is there but cannot be read for
// certain gives "username:#unread", one bucket for all such requests: the
// upstream may read it all the same, so it must not free the caller of the limit.
// Otherwise the address counts ("ip"), and where there is none either,
// "ip:unknown", one bucket for all such callers ("unknown"). All are noted.
func (e *Expr) Append(dst []byte, r *Request) (key []byte, used string) {
	start := len(dst)
	var odd *alternative // the first that a body only keeps from being present
	for i := range e.alternatives {
		a := &e.alternatives[i]
		var how presence
		dst, how = e.appendAlternative(dst, a, r)
		if how == present {
			return dst, a.text
		}
		if how == asUnread && odd == nil {
			odd = a
		}
		dst = dst[:start]
	}
	if odd != nil {
		dst, _ = e.appendAlternative(dst, odd, r)
		return dst, odd.text
	}
	r.Noted |= NoIdentity
	if dst, ok := e.definitions.appendIP(dst, r); ok {
		return dst, nameIP
	}
	return append(append(dst, nameIP+":"...), unknown...), unknown
}

func (e *Expr) appendAlternative(dst []byte, a *alternative, r *Request) ([]byte, presence) {
	least := present
	for i, p := range a.parts {
		if i > 0 {
			dst = append(dst, '|')
		}
		how := present
		switch {
		case p.declared != nil:
			dst, how = p.declared.append(dst, r, &e.definitions.hash)
		case p.name == nameIP:
			var ok bool
			if dst, ok = e.definitions.appendIP(dst, r); !ok {
				how = absent
			}
		default:
			dst = append(dst, p.name...)
		}
		if how == absent {
			return dst, absent
		}
		least = min(least, how)
	}
	return dst, least
}

// appendIP appends "ip:" and the client's address, if there is one.
func (d *Definitions) appendIP(dst []byte, r *Request) ([]byte, bool) {
	addr, ok := d.ClientIP(r)
	if !ok {
		return dst, false
	}
	return d.client.appendAddress(append(dst, nameIP+":"...), addr), true
}
