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
