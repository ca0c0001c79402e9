package simulate

import (
	"cmp"
	"strings"

	"routelimit/replay"
)

// affected are whose requests only one of two policies refuses.
type affected struct {
	offenders
	all int64 // requests that are refused to everybody
}

func newAffected() affected { return affected{offenders: offenders{most: mostOffenders}} }

// add counts a request that was refused.
func (a *affected) add(p *replay.Played) {
	route, limit, identity := refuser(p)
	if identity == Everybody {
		a.all++
	}
	a.refused(route+"\x00"+limit+"\x00"+identity, p.Entry.TimeMS, false) // no key has a NUL
}

// refuser is the route, the limit and the identity of a refusal.
func refuser(p *replay.Played) (route, limit, identity string) {
	route = keyOf(p.Route)
	if p.Blocked != nil {
		return route, p.Blocked.Name, cmp.Or(p.BlockedFor, Everybody)
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		for j := range g.Limits {
			if a := &g.Limits[j]; !a.Pass && a.Refuses {
				return route, a.Limit.Name, identityOf(g, a.Limit)
			}
		}
	}
	return route, "undeclared", Everybody
}

// identities is how many there are, without everybody.
func (a *affected) identities() (n int) {
	for key := range a.known {
		if !strings.HasSuffix(key, "\x00"+Everybody) {
			n++
		}
	}
	return n
}

func (a *affected) list(most int) []Affected {
	list := []Affected{}
	for _, r := range a.top(most) {
		parts := strings.SplitN(r.Identity, "\x00", 3)
		list = append(list, Affected{parts[0], parts[1], parts[2], r.Refused, r.First})
	}
	return list
}
