package policy

import (
	"bytes"

	"routelimit/limit"
	"routelimit/policy/identity"
)

// Plan is what has to be asked for one request: one group for each distinct
// key. It may be used again for the next request and then allocates nothing.
type Plan struct {
	Groups []Group
	// Blocked is the first limit that is 0 for this caller and refuses: Redis need
	// not be asked. BlockedIn is its group.
	Blocked   *Limit
	BlockedIn int

	scratch  []byte     // a value that is compared
	resolved []resolved // parallel to the route's limits
}

// Group is what one call to Redis decides, all or nothing.
type Group struct {
	Key          []byte
	Limits       []*Limit
	Charges      []limit.Charge // parallel to Limits
	IdentityUsed []string       // parallel to Limits: "ip+username"

	identityAt int // where the identity begins in Key
}

// resolved is which group a limit went to, and by which identity.
type resolved struct {
	group int
	used  string
}

// Identity returns the identity as it stands in the key: "ip:203.0.113.7".
func (g *Group) Identity() []byte { return g.Key[g.identityAt : len(g.Key)-1] }

// Plan resolves the identity of every limit for one request, and groups the
// limits that have one key. What was odd is left in req.Noted.
func (r *Route) Plan(req *identity.Request, p *Plan) {
	p.Groups, p.resolved, p.Blocked = p.Groups[:0], p.resolved[:0], nil
	for i, l := range r.Limits {
		var where resolved
		if l.sameKey < i {
			where = p.resolved[l.sameKey]
		} else {
			where = p.resolve(l, req)
		}
		p.resolved = append(p.resolved, where)

		g := &p.Groups[where.group]
		g.Limits = append(g.Limits, l)
		g.Charges = append(g.Charges, l.charge)
		g.IdentityUsed = append(g.IdentityUsed, where.used)
		if l.varies != nil {
			p.vary(l, where.group, req)
		}
	}
}

// resolve writes the limit's key and finds the group of that key, a new one if
// there is none.
func (p *Plan) resolve(l *Limit, req *identity.Request) resolved {
	g := p.newGroup()
	g.Key = l.appendKeyHead(g.Key, req)
	g.identityAt = len(g.Key)
	var used string
	g.Key, used = l.Identity.Append(g.Key, req)
	g.Key = append(g.Key, '}')

	last := len(p.Groups) - 1
	for i := range last {
		if bytes.Equal(p.Groups[i].Key, g.Key) {
			p.Groups = p.Groups[:last]
			return resolved{i, used}
		}
	}
	return resolved{last, used}
}

// newGroup appends an empty group, with the buffers of an earlier one if there was one.
func (p *Plan) newGroup() *Group {
	n := len(p.Groups)
	if n == cap(p.Groups) {
		p.Groups = append(p.Groups, Group{})
	}
	p.Groups = p.Groups[:n+1]
	g := &p.Groups[n]
	g.Key, g.Limits, g.Charges, g.IdentityUsed = g.Key[:0], g.Limits[:0], g.Charges[:0], g.IdentityUsed[:0]
	return g
}

const envoyRouteName = "xds\x00route_name"

func (l *Limit) appendKeyHead(key []byte, req *identity.Request) []byte {
	key = append(key, l.keyHead...)
	if l.keyPerRoute {
		name, _ := req.Attrs.Property(envoyRouteName)
		key = identity.AppendEscaped(key, name)
		key = append(key, '|')
	}
	return key
}
