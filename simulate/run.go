package simulate

import (
	"context"
	"maps"
	"slices"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/replay"
)

// Options say how a policy is simulated.
type Options struct {
	Read   accesslog.Options
	Replay replay.Settings
	Top    int // how many refused identities a limit lists
}

// Run plays logs through a policy. The error is ctx's; what went wrong with a log
// is in the report.
func Run(ctx context.Context, p *policy.Policy, logs []accesslog.Input, o Options) (*Report, error) {
	o.Replay.Uses = true
	s := newSide(p, o.Replay)
	read, err := accesslog.Read(ctx, logs, o.Read, func(e *accesslog.Entry) error {
		if !s.seen.skips(e) {
			s.play(e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.report(read, o.Read.Fields, o.Top), nil
}

// side is one policy and what it does.
type side struct {
	policy   *policy.Policy
	settings replay.Settings
	player   *replay.Player
	tally    *tally
	seen     sights
}

func newSide(p *policy.Policy, s replay.Settings) *side {
	return &side{policy: p, settings: s, player: replay.New(p, s), tally: newTally(p, s.Carried)}
}

func (s *side) play(e *accesslog.Entry) *replay.Played {
	played := s.player.Play(e)
	s.tally.add(played)
	s.seen.add(played)
	return played
}

// report is what became of all requests.
func (s *side) report(read []*accesslog.Log, fields []accesslog.Field, top int) *Report {
	t := s.tally
	r := &Report{Logs: []Log{}, Routes: []Route{}, Outcomes: outcomesOf(t.all), Partly: t.partly, AlreadyRefused: s.seen.refused, AnsweredBefore: s.seen.skipped()}
	for _, l := range read {
		r.addLog(l)
	}
	r.Requests -= r.AnsweredBefore
	if r.Requests > 0 {
		r.From, r.To = timeOf(s.seen.first), timeOf(s.seen.last)
	}
	for _, route := range routesOf(s.policy, s.settings.Carried) {
		r.addRoute(t, route, top)
	}
	if none := t.routes[nil]; none != nil {
		r.Routes = append(r.Routes, Route{
			Key: NoRoute, Requests: none.requests, Outcomes: outcomesOf(none.outcomes), Limits: []Limit{}, series: none.series,
		})
	}
	n := notes{policy: s.policy, settings: s.settings, player: s.player, seen: &s.seen, layouts: layoutsOf(read), fields: fields}
	r.explainLacks(n.layouts)
	r.Notes = n.write(r, read)
	r.setTimeline(&t.clock)
	return r
}

// NoRoute is the key of requests that no route covers, not even the default.
const NoRoute = "none"

func sortedRoutes(carried map[string]*policy.Route) []*policy.Route {
	var all []*policy.Route
	for _, name := range slices.Sorted(maps.Keys(carried)) {
		all = append(all, carried[name])
	}
	return all
}

func (r *Report) addLog(l *accesslog.Log) {
	log := Log{Name: l.Name, Lines: l.Lines, Requests: l.Requests, Unreadable: l.Unreadable, Late: l.Late, Faults: []Fault{}}
	if l.Layout != nil {
		log.Format = l.Layout.Format
	}
	if l.Err != nil {
		log.Error = l.Err.Error()
	}
	for _, f := range l.Faults {
		log.Faults = append(log.Faults, Fault(f))
	}
	r.Logs = append(r.Logs, log)
	r.Requests += l.Requests
	r.Unreadable += l.Unreadable
}

func outcomesOf(n [replay.Outcomes]int64) Outcomes {
	return Outcomes{
		Passed: n[replay.Passed], Refused: n[replay.Refused], Undeclared: n[replay.Undeclared], Exempt: n[replay.Exempt],
		Unlimited: n[replay.Unlimited], Preflight: n[replay.Preflight], LeftOut: n[replay.LeftOut],
	}
}

// addRoute adds a route that had requests.
func (r *Report) addRoute(t *tally, route *policy.Route, top int) {
	found := t.routes[route]
	if found == nil {
		return
	}
	line := Route{
		Key: route.Key, Template: route.Template, Requests: found.requests, Outcomes: outcomesOf(found.outcomes),
		Partly: found.partly, Limits: []Limit{}, series: found.series,
	}
	for _, l := range route.Limits {
		line.Limits = append(line.Limits, describe(l, t.limit(l), top))
	}
	r.Routes = append(r.Routes, line)
}

// setTimeline lays the routes' series beside each other.
func (r *Report) setTimeline(c *clock) {
	r.Timeline = Timeline{Start: timeOf(c.start * 1000), Seconds: steps[c.step], Routes: []Line{}}
	longest := 0
	for i := range r.Routes {
		longest = max(longest, len(r.Routes[i].series))
	}
	for i := range r.Routes {
		line := Line{Route: r.Routes[i].Key, Requests: make([]int64, longest), Refused: make([]int64, longest)}
		for j, c := range r.Routes[i].series {
			line.Requests[j], line.Refused[j] = c.requests, c.refused
		}
		r.Timeline.Routes = append(r.Timeline.Routes, line)
	}
}
