package simulate

import (
	"slices"
	"strings"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/replay"
)

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
