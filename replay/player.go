package replay

import (
	"slices"
	"strings"

	"routelimit/accesslog"
	"routelimit/bootstrap"
	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/identity"
)

// Player plays requests in the order of time. It is not for concurrent use.
type Player struct {
	policy   *policy.Policy
	settings Settings
	front    bootstrap.Front
	callers  callers
	views    map[*accesslog.Layout]*view
	widest   map[*limit.Limit]*limit.Limit

	request  request
	matched  policy.Matched
	plan     policy.Plan
	played   Played
	groups   []Group
	decided  []limit.Decision // parallel to groups
	charges  [][]limit.Charge
	refunded []limit.Charge
	wide     []limit.Charge

	// Short counts the requests by address whose X-Forwarded-For has fewer entries
	// than client.trusted_hops, so that the peer's address stood in; Unknown those
	// without any address.
	Short, Unknown int64
}

// New returns a player with no request counted yet.
func New(p *policy.Policy, s Settings) *Player {
	front := bootstrap.Front{UseRemoteAddress: true}
	if s.Front != nil {
		front = *s.Front
	}
	return &Player{
		policy: p, settings: s, front: front, callers: newCallers(),
		views: map[*accesslog.Layout]*view{}, widest: map[*limit.Limit]*limit.Limit{},
	}
}

// Play plays the next request. What the filter does in the same order is in
// filter/request.go.
func (p *Player) Play(e *accesslog.Entry) *Played {
	r := p.read(e)
	p.played = Played{Entry: e, LeftOut: p.played.LeftOut[:0]}
	if p.policy.Mode == policy.Off {
		return p.end(Unlimited)
	}
	if !p.policy.CountPreflights && isPreflight(r) {
		return p.end(Preflight)
	}
	route := p.route(r)
	p.played.Route = route
	caller := identity.Request{Attrs: r, Params: p.matched.Params}
	switch {
	case route == nil && p.policy.RefuseUndeclared:
		return p.end(Undeclared)
	case route == nil || len(route.Limits) == 0:
		return p.end(Unlimited)
	case route.IsExempt(&caller):
		return p.end(Exempt)
	case route.Blocked != nil:
		p.played.Blocked = route.Blocked
		return p.end(Refused)
	}
	if r.form = false; route.NeedsBody {
		caller.Body = r.body()
	}
	route.Plan(&caller, &p.plan)
	p.arrange()
	p.noteAddress(r, &caller)
	if len(p.groups) == 0 {
		return p.end(LeftOut)
	}
	if blocked := p.plan.Blocked; blocked != nil && !slices.Contains(p.played.LeftOut, blocked) {
		p.played.Blocked, p.played.BlockedFor = blocked, string(p.plan.Groups[p.plan.BlockedIn].Identity())
		return p.end(Refused)
	}
	outcome := p.ask(e.TimeMS)
	p.settle(outcome, e)
	p.played.Groups = p.groups
	return p.end(outcome)
}

func (p *Player) end(o Outcome) *Played {
	p.played.Outcome = o
	return &p.played
}

// read makes the request of an entry.
func (p *Player) read(e *accesslog.Entry) *request {
	v := p.views[e.Layout]
	if v == nil {
		v = newView(e.Layout)
		p.views[e.Layout] = v
	}
	p.request = request{Entry: e, view: v, source: p.request.source}
	p.request.restore(&p.front)
	return &p.request
}

// isPreflight takes every OPTIONS for a preflight where the log does not have the
// headers that tell.
func isPreflight(r *request) bool {
	if r.Method != "OPTIONS" {
		return false
	}
	return !r.view.hasHeader("origin") || !r.view.hasHeader("access-control-request-method") || policy.IsPreflight(r)
}

// route finds the route as the filter does.
func (p *Player) route(r *request) *policy.Route {
	if len(p.settings.Carried) > 0 {
		name, _ := r.Property(routeName)
		if route := p.settings.Carried[string(name)]; route != nil {
			route.Capture(r.path, &p.matched)
			return route
		}
	}
	return p.policy.Match(r.Method, r.Host, r.path, &p.matched)
}

const routeName = "xds\x00route_name"

// noteAddress counts the requests that are counted by an address which is not what
// the policy wants.
func (p *Player) noteAddress(r *request, caller *identity.Request) {
	if !slices.ContainsFunc(p.groups, byAddress) {
		return
	}
	definitions := p.policy.Definitions()
	if _, ok := definitions.ClientIP(caller); !ok {
		p.Unknown++
	} else if n := definitions.Client().TrustedHops; n > 0 && r.hops() < n {
		p.Short++
	}
}

func byAddress(g Group) bool {
	return strings.HasPrefix(g.Identity, "ip:") || strings.Contains(g.Identity, "|ip:")
}

// arrange makes groups of the plan, without the limits that are left out.
func (p *Player) arrange() {
	p.callers.tidy(p.request.TimeMS)
	p.groups = p.groups[:0]
	for i := range p.plan.Groups {
		planned := &p.plan.Groups[i]
		g := p.newGroup()
		charges := p.charges[len(p.groups)-1]
		for j, l := range planned.Limits {
			if !p.settings.Fallback && p.request.view.leaves(l) {
				p.played.LeftOut = append(p.played.LeftOut, l)
				continue
			}
			g.Limits = append(g.Limits, Asked{Limit: l, Used: planned.IdentityUsed[j]})
			charges = append(charges, planned.Charges[j])
		}
		p.charges[len(p.groups)-1] = charges
		if len(g.Limits) == 0 {
			p.groups = p.groups[:len(p.groups)-1]
			continue
		}
		g.caller = p.callers.of(planned.Key)
		g.Key = g.caller.key
		identity := planned.Identity()
		end := len(g.Key) - 1
		g.Identity = g.Key[end-len(identity) : end]
	}
}

// newGroup appends an empty group, in the memory of an earlier one if there is some.
func (p *Player) newGroup() *Group {
	n := len(p.groups)
	if n == cap(p.groups) {
		p.groups = append(p.groups, Group{})
	}
	p.groups = p.groups[:n+1]
	if n == len(p.charges) {
		p.charges = append(p.charges, nil)
	}
	p.charges[n] = p.charges[n][:0]
	g := &p.groups[n]
	g.Limits = g.Limits[:0]
	return g
}

// ask decides each group by itself, as Redis does.
func (p *Player) ask(nowMS int64) Outcome {
	p.decided = p.decided[:0]
	outcome := Passed
	for i := range p.groups {
		g := &p.groups[i]
		d := g.caller.counts.Decide(nowMS, p.charges[i])
		p.decided = append(p.decided, d)
		g.Allowed = d.Allowed
		if !d.Allowed {
			outcome = Refused
		}
		for j := range g.Limits {
			a := &g.Limits[j]
			a.Pass, a.Refuses = d.Verdicts[j].Pass, p.charges[i][j].Limit.Refuses()
		}
	}
	return outcome
}

// settle gives back what a refused request was charged, and of a passed one what
// its status does not count. A log says when a request came and not when it was
// answered, so charges are given back at once.
func (p *Player) settle(outcome Outcome, e *accesslog.Entry) {
	for i := range p.groups {
		g := &p.groups[i]
		returned := func(l *policy.Limit) bool { return answered(e.Status) && !l.Counts(e.Status) }
		if p.settings.Uses {
			p.use(g, p.charges[i], returned)
		}
		switch {
		case !g.Allowed:
		case outcome == Refused:
			p.refund(&g.caller.counts, g, p.charges[i], &p.decided[i], func(*policy.Limit) bool { return true })
		default:
			for j := range g.Limits {
				a := &g.Limits[j]
				a.Returned = a.Pass && returned(a.Limit)
			}
			p.refund(&g.caller.counts, g, p.charges[i], &p.decided[i], returned)
		}
	}
}

// answered says whether the upstream's status came: 0 is Envoy's for a client that
// left before, 499 nginx'.
func answered(status int) bool { return status != 0 && status != 499 }

// refund gives back the charges of one group, which has allowed the request, whose
// limits want it. What another limit shares and keeps is not given back.
func (p *Player) refund(from *limit.Hash, g *Group, charges []limit.Charge, d *limit.Decision, wanted func(*policy.Limit) bool) {
	kept := func(c limit.Charge) bool {
		for k := range charges {
			if !wanted(g.Limits[k].Limit) && charges[k].Limit.SharesState(c.Limit) {
				return true
			}
		}
		return false
	}
	p.refunded = p.refunded[:0]
	for j, c := range charges {
		if d.Verdicts[j].Pass && wanted(g.Limits[j].Limit) && !kept(c) {
			p.refunded = append(p.refunded, limit.Charge{Limit: c.Limit, Cost: limit.Price(charges, j)})
		}
	}
	if len(p.refunded) > 0 {
		from.Refund(d.AtMS, d.AtMS, p.refunded)
	}
}
