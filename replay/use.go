package replay

import (
	"routelimit/limit"
	"routelimit/policy"
)

// use finds out how much of each limit the identity of a group uses with this
// request, had nothing been refused before. Every limit is asked as a shadow with
// the largest number there is, so each charges by itself and none holds another back.
func (p *Player) use(g *Group, charges []limit.Charge, returned func(*policy.Limit) bool) {
	wide := p.wide[:0]
	for j := range charges {
		wide = append(wide, limit.Charge{Limit: p.widestOf(charges[j].Limit), Cost: charges[j].Cost})
	}
	p.wide = wide
	d := g.caller.uses.Decide(p.request.TimeMS, wide)
	for j := range g.Limits {
		capacity, v := wide[j].Limit.Capacity(), &d.Verdicts[j]
		g.Limits[j].Use = capacity - v.Remaining
		if !v.Pass {
			g.Limits[j].Use = capacity + 1
		}
	}
	p.refund(&g.caller.uses, g, wide, &d, returned)
}

func (p *Player) widestOf(l *limit.Limit) *limit.Limit {
	w := p.widest[l]
	if w == nil {
		widest := l.Widest()
		w = &widest
		p.widest[l] = w
	}
	return w
}
