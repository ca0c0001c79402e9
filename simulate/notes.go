package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/replay"
)

// sights are what the requests showed by the way.
type sights struct {
	first, last int64
	refused     int64 // with status 429
	query       bool  // some path had one
	preflights  int64
	before      map[string]int64 // answered before routelimit, by what
}

// skips says whether a request never came to routelimit, and takes note of it.
func (s *sights) skips(e *accesslog.Entry) bool {
	by := replay.AnsweredBefore(e)
	if by == "" {
		return false
	}
	if s.before == nil {
		s.before = map[string]int64{}
	}
	s.before[by]++
	return true
}

// skipped is how many never came to routelimit.
func (s *sights) skipped() (n int64) {
	for _, requests := range s.before {
		n += requests
	}
	return n
}

func (s *sights) add(p *replay.Played) {
	e := p.Entry
	if s.first == 0 {
		s.first = e.TimeMS
	}
	s.last = e.TimeMS
	if e.Status == 429 {
		s.refused++
	}
	s.query = s.query || strings.Contains(e.Path, "?")
	if p.Outcome == replay.Preflight {
		s.preflights++
	}
}

// notes is what there is to say before the numbers are believed.
type notes struct {
	policy   *policy.Policy
	settings replay.Settings
	player   *replay.Player
	seen     *sights
	layouts  []*accesslog.Layout
	fields   []accesslog.Field // that were given
	lines    []string
}

func layoutsOf(logs []*accesslog.Log) []*accesslog.Layout {
	var all []*accesslog.Layout
	for _, l := range logs {
		if l.Layout != nil {
			all = append(all, l.Layout)
		}
	}
	return all
}

// explainLacks says, for each limit, what the logs have no place for.
func (r *Report) explainLacks(layouts []*accesslog.Layout) {
	for i := range r.Routes {
		for j := range r.Routes[i].Limits {
			d := &r.Routes[i].Limits[j]
			for _, layout := range layouts {
				for _, lack := range replay.Lacks(layout, slices.Concat(d.limit.Identity.Alternatives()...)) {
					if !slices.Contains(d.Lacks, lack) {
						d.Lacks = append(d.Lacks, lack)
					}
				}
			}
		}
	}
}

func (n *notes) write(r *Report, logs []*accesslog.Log) []string {
	n.lines = []string{}
	n.aboutLogs(r, logs)
	n.aboutFields(logs)
	n.aboutLimits(r)
	n.aboutAddresses(r)
	n.aboutRoutes(r)
	return n.lines
}

func (n *notes) say(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(n.lines, line) { // the next log may lack the same
		n.lines = append(n.lines, line)
	}
}

func (n *notes) aboutLogs(r *Report, logs []*accesslog.Log) {
	for _, l := range logs {
		if l.Err != nil {
			n.say("%s was not read to its end: %v.", l.Name, l.Err)
		}
		if l.Late > 0 {
			n.say("%s: %d of %d requests stand behind later ones, by up to %s, and were played late. Sort the log by time, or give the files that it is made of one by one.",
				l.Name, l.Late, l.Requests, time.Duration(l.MostLateMS)*time.Millisecond)
		}
		if l.Unreadable*100 > l.Lines {
			n.say("%s: %d of %d lines cannot be read; they take no part.", l.Name, l.Unreadable, l.Lines)
		}
	}
	if by := n.seen.before; len(by) > 0 {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(by)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, by[name]))
		}
		n.say("%s answered before routelimit, as the response code details say (%s); they take no part.",
			were(n.seen.skipped()), strings.Join(parts, ", "))
	}
	if n.seen.refused > 0 {
		n.say("%s had the answer 429 already, from whoever limited then. They count as requests and were played; what they would have been answered otherwise is unknown.",
			requests(n.seen.refused))
	}
}

func (n *notes) aboutLimits(r *Report) {
	if n.policy.Mode == policy.Off {
		n.say(`The policy's mode is "off": nothing is limited.`)
	}
	if n.policy.Mode == policy.Shadow {
		n.say(`The policy's mode is "shadow": no request is refused; what would be is counted with each limit.`)
	}
	for _, route := range r.Routes {
		for _, l := range route.Limits {
			n.aboutLimit(&route, &l)
		}
	}
}

func (n *notes) aboutLimit(route *Route, l *Limit) {
	name := fmt.Sprintf("%s, limit %q", route.Key, l.Name)
	lacks := strings.Join(l.Lacks, ", ")
	if l.LeftOut > 0 {
		n.say("%s was not played for %s: the log has no place for %s. Name it with --field %s=PLACE, or play the limit as if nobody sent it with --missing fallback.",
			name, requests(l.LeftOut), lacks, first(l.Lacks))
	} else if len(l.Lacks) > 0 {
		n.say("%s: the log has no place for %s, so nobody has it here: %s. Name it with --field %s=PLACE.",
			name, lacks, counted(l.Used), first(l.Lacks))
	}
	for _, used := range l.Used {
		if !used.Fallback {
			continue
		}
		stand := "the address stood in"
		if used.Alternative != "ip" {
			stand = "one count for all of them stood in"
		}
		n.say("%s: %d of %d requests had nothing of %s; %s.", name, used.Requests, l.Asked, l.Identity, stand)
	}
	n.aboutVariables(name, l)
	if l.OneIn > 1 {
		n.say("%s met more identities than are kept: its shares and suggestions are those of one in %d of them, taken by chance.", name, l.OneIn)
	}
	if len(l.Count) > 0 && l.Asked > 0 && !n.every(func(a *accesslog.Layout) bool { return a.HasStatus }) {
		n.say("%s counts by status, and a log has none: there every request stays counted. Name it with --field status=PLACE.", name)
	}
}

// aboutVariables says what of a limit each request would decide, and a log does not say.
func (n *notes) aboutVariables(name string, l *Limit) {
	if plans := l.limit.Plans; plans != nil {
		n.aboutVariable(plans.By, name+" goes by %s, for which a log has no place: all callers have the default plan there.")
	}
	n.aboutVariable(l.limit.CostFrom, name+" takes its cost from %s, for which a log has no place: a request costs 1 there.")
}

func (n *notes) aboutVariable(source identity.Source, format string) {
	for _, layout := range n.layouts {
		for _, lack := range replay.Lacks(layout, components(source)) {
			n.say(format+" Name it with --field %s=PLACE.", lack, lack)
		}
	}
}

// components are one that is read from the source, or none where there is no source.
func components(source identity.Source) []identity.Component {
	if source.Kind() == "" {
		return nil
	}
	return []identity.Component{{Source: source}}
}

// were is "1 request was" or "37 requests were".
func were(n int64) string {
	if n == 1 {
		return "1 request was"
	}
	return requests(n) + " were"
}

// requests is "1 request" or "37 requests".
func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// counted is "37 requests counted by ip".
func counted(used []Used) string {
	var parts []string
	for _, u := range used {
		parts = append(parts, fmt.Sprintf("%s counted by %s", requests(u.Requests), u.Alternative))
	}
	return strings.Join(parts, ", ")
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (n *notes) every(has func(*accesslog.Layout) bool) bool {
	return !slices.ContainsFunc(n.layouts, func(l *accesslog.Layout) bool { return !has(l) })
}

func (n *notes) aboutAddresses(r *Report) {
	if n.player.Unknown > 0 {
		n.say("%s without a client address that can be read: by address they share one count.", requests(n.player.Unknown))
	}
	if n.player.Short > 0 {
		n.say("%s with fewer entries in X-Forwarded-For than client.trusted_hops (%d): the address of whoever connected stood in. If the log lacks that header, name it with --field forwarded_for=PLACE; if it lacks the proxy's own entry, add --forwarded-for received.",
			requests(n.player.Short), n.policy.Definitions().Client().TrustedHops)
	}
	if !n.every(func(l *accesslog.Layout) bool { return l.HasClient || !l.HasForwardedFor || l.Received }) {
		n.say("A log has no address of the client; the last entry of X-Forwarded-For stands in. That is whom Envoy trusts, unless xff_num_trusted_hops is set.")
	}
}

func (n *notes) aboutRoutes(r *Report) {
	if n.seen.preflights > 0 && !n.every(func(l *accesslog.Layout) bool {
		return slices.Contains(l.Sources, "header:origin") && slices.Contains(l.Sources, "header:access-control-request-method")
	}) {
		n.say("%s with the method OPTIONS, and a log does not tell preflights from others: all were taken for preflights, which are not counted.", requests(n.seen.preflights))
	}
	if !n.every(func(l *accesslog.Layout) bool { return l.HasHost }) && slices.ContainsFunc(n.policy.Routes, hasHost) {
		n.say("Routes of this policy name a host, and a log has none, so they match nothing there. Name it with --field host=PLACE, or --field host==api.example.com for all.")
	}
	if !n.seen.query && n.usesQuery() {
		n.say("An identity is read from the query, and no path in the log has one. Log the path with its query, or name the parameter with --field query:NAME=PLACE.")
	}
	named := func(l *accesslog.Layout) bool { return slices.Contains(l.Sources, "property:xds.route_name") }
	if len(n.settings.Carried) > 0 && !n.every(named) {
		n.say("Routes of this Envoy carry limits of their own, and a log does not say which route was taken, so they were not played. Name it with --field property:xds.route_name=PLACE.")
	}
	if d := n.policy.Default; d != nil && d.PerEnvoyRoute && !n.every(named) {
		n.say("The default counts for each of Envoy's routes, and a log does not say which was taken: all share one count. Name it with --field property:xds.route_name=PLACE.")
	}
	for _, r := range routesOf(n.policy, n.settings.Carried) {
		n.aboutExempt(r)
	}
	if f := n.settings.Front; f != nil && f.ClientHeader != "" && !n.every(func(l *accesslog.Layout) bool {
		return !l.Received || slices.Contains(l.Sources, "header:"+f.ClientHeader)
	}) {
		n.say("This Envoy finds the client in the header %s, and a log has none: whoever connected stands in. Name it with --field header:%s=PLACE.", f.ClientHeader, f.ClientHeader)
	}
}

// aboutExempt says who could not be exempt.
func (n *notes) aboutExempt(r *policy.Route) {
	if len(r.Exempt) > 0 && !n.every(func(l *accesslog.Layout) bool { return l.HasClient || l.HasForwardedFor }) {
		n.say("%s exempts addresses, and a log has none: nobody was exempt there.", r.Key)
	}
	for _, layout := range n.layouts {
		if lacks := replay.Lacks(layout, r.ExemptCallers.Components()); lacks != nil {
			n.say("%s exempts callers by %s, for which a log has no place: none of them was exempt there. Name it with --field %s=PLACE.", r.Key, strings.Join(lacks, ", "), lacks[0])
			return
		}
	}
}

// hasHost says whether the route's template names a host: "POST api.example.com/login".
func hasHost(r *policy.Route) bool {
	_, path, _ := strings.Cut(r.Template, " ")
	return !strings.HasPrefix(path, "/")
}

// usesQuery says whether something is read from the query that is no field by itself.
func (n *notes) usesQuery() bool {
	for _, r := range routesOf(n.policy, n.settings.Carried) {
		for _, l := range r.Limits {
			for _, all := range l.Identity.Alternatives() {
				for _, c := range all {
					if c.Source.Kind() == "query" && !n.every(func(a *accesslog.Layout) bool { return slices.Contains(a.Sources, c.Source.String()) }) {
						return true
					}
				}
			}
		}
	}
	return false
}
