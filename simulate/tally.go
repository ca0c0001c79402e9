package simulate

import (
	"routelimit/policy"
	"routelimit/replay"
)

// tally counts what becomes of requests, in memory that does not grow with them.
type tally struct {
	routes map[*policy.Route]*routeTally // nil: no route
	limits map[*policy.Limit]*limitTally
	all    [replay.Outcomes]int64
	partly int64
	clock  clock
	// Of one limit.
	mostIdentities, mostOffenders int
}

// Identities that are looked at: maxIdentities in all, shared out among the limits,
// and fewestIdentities for each at least.
const (
	maxIdentities    = 2_000_000
	fewestIdentities = 2_000
)

func newTally(p *policy.Policy, carried map[string]*policy.Route) *tally {
	limits := 0
	for _, r := range routesOf(p, carried) {
		limits += len(r.Limits)
	}
	return &tally{
		routes: map[*policy.Route]*routeTally{}, limits: map[*policy.Limit]*limitTally{},
		mostIdentities: max(fewestIdentities, maxIdentities/max(1, limits)),
		mostOffenders:  max(fewestOffenders, min(mostOffenders, maxOffenders/max(1, limits))),
	}
}

// routesOf are all routes, the default last.
func routesOf(p *policy.Policy, carried map[string]*policy.Route) []*policy.Route {
	all := append([]*policy.Route(nil), p.Routes...)
	all = append(all, sortedRoutes(carried)...)
	if p.Default != nil {
		all = append(all, p.Default)
	}
	return all
}

type routeTally struct {
	requests int64
	outcomes [replay.Outcomes]int64
	partly   int64
	series   []cell
}

type limitTally struct {
	leftOut, asked, passed, refused, spared, withheld, returned int64

	used       map[string]*Used
	population population
	offenders  offenders
	minutes    minutes
}

// add counts one request.
func (t *tally) add(p *replay.Played) {
	r := t.route(p.Route)
	r.requests++
	r.outcomes[p.Outcome]++
	t.all[p.Outcome]++
	if p.Outcome != replay.LeftOut && len(p.LeftOut) > 0 {
		r.partly++
		t.partly++
	}
	refused := p.Outcome == replay.Refused || p.Outcome == replay.Undeclared
	at := t.clock.cellAt(p.Entry.TimeMS, func(offset, into int64) {
		for _, r := range t.routes {
			r.series = widened(r.series, offset, into)
		}
	})
	r.series = count(r.series, at, refused)

	for _, l := range p.LeftOut {
		t.limit(l).leftOut++
	}
	if p.Blocked != nil {
		l := t.limit(p.Blocked)
		l.asked++
		l.refused++
		l.minutes.add(p.Entry.TimeMS, true, false)
		if p.BlockedFor != "" {
			l.offenders.refused(p.BlockedFor, p.Entry.TimeMS, false)
			l.population.saw(p.BlockedFor, 1, true, false)
		}
	}
	for i := range p.Groups {
		for j := range p.Groups[i].Limits {
			t.addAsked(p, &p.Groups[i], &p.Groups[i].Limits[j])
		}
	}
}

func (t *tally) addAsked(p *replay.Played, g *replay.Group, a *replay.Asked) {
	l := t.limit(a.Limit)
	l.asked++
	spared := !a.Pass && !a.Refuses
	switch {
	case !a.Pass:
		l.refused++
		if spared {
			l.spared++
		}
		l.offenders.refused(identityOf(g, a.Limit), p.Entry.TimeMS, spared)
	case p.Outcome == replay.Refused:
		l.withheld++
	default:
		l.passed++
	}
	if a.Returned {
		l.returned++
	}
	used := l.used[a.Used]
	if used == nil {
		used = &Used{Alternative: a.Used, Fallback: a.FellBack()}
		l.used[a.Used] = used
	}
	used.Requests++
	l.population.saw(g.Key, a.Use, !a.Pass, spared)
	l.minutes.add(p.Entry.TimeMS, !a.Pass, spared)
}

// identityOf is who a key stands for, with Envoy's route where each has a count of
// its own.
func identityOf(g *replay.Group, l *policy.Limit) string {
	if l.Bucket == "" && l.Route.PerEnvoyRoute {
		return g.Key
	}
	return g.Identity
}

func (t *tally) route(r *policy.Route) *routeTally {
	found := t.routes[r]
	if found == nil {
		found = &routeTally{}
		t.routes[r] = found
	}
	return found
}

func (t *tally) limit(l *policy.Limit) *limitTally {
	found := t.limits[l]
	if found == nil {
		found = &limitTally{
			used: map[string]*Used{}, population: newPopulation(t.mostIdentities), offenders: offenders{most: t.mostOffenders},
		}
		t.limits[l] = found
	}
	return found
}

// minutes finds the minute with the most refusals, the first of several.
type minutes struct{ now, worst minute }

type minute struct{ at, requests, refused, spared int64 }

func (m *minutes) add(ms int64, refused, spared bool) {
	if at := ms / 60_000; at != m.now.at {
		m.close()
		m.now = minute{at: at}
	}
	m.now.requests++
	if refused {
		m.now.refused++
	}
	if spared {
		m.now.spared++
	}
}

// close ends the minute that is counted.
func (m *minutes) close() {
	if m.now.refused > m.worst.refused {
		m.worst = m.now
	}
}
