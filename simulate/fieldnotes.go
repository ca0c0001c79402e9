package simulate

import (
	"slices"
	"strings"

	"routelimit/accesslog"
	"routelimit/policy/identity"
	"routelimit/replay"
)

// aboutFields says which of the fields that were given did nothing.
func (n *notes) aboutFields(logs []*accesslog.Log) {
	for _, l := range logs {
		for _, f := range l.Unfit {
			n.say("%s: --field %s was not used: %s.", l.Name, f, accesslog.Unfit(l.Layout.Format, f))
		}
		for _, f := range l.Unmet {
			if l.Requests > 0 {
				n.say("%s: no line has a value at the place of --field %s. Either no request had %s, or the log writes the place otherwise.", l.Name, f, f.Name)
			}
		}
	}
	read := n.read()
	for _, f := range n.fields {
		if strings.Contains(f.Name, ":") && !slices.Contains(n.readBesides(), f.Name) && !replay.Reads(f.Name, read) {
			n.say("--field %s: no limit of the policy reads %s.", f, f.Name)
		}
	}
}

// read is all that the policy's limits are read from.
func (n *notes) read() []identity.Component {
	all := []identity.Component{{Name: "ip"}} // which stands in everywhere
	for _, r := range routesOf(n.policy, n.settings.Carried) {
		all = append(all, r.ExemptCallers.Components()...)
		for _, l := range r.Limits {
			all = append(all, slices.Concat(l.Identity.Alternatives()...)...)
			all = append(all, components(l.CostFrom)...)
			if l.Plans != nil {
				all = append(all, components(l.Plans.By)...)
			}
		}
	}
	return all
}

// readBesides are the sources that tell something else than an identity.
func (n *notes) readBesides() []string {
	all := []string{"header:origin", "header:access-control-request-method", "property:xds.route_name"}
	if n.settings.Front != nil {
		all = append(all, "header:"+n.settings.Front.ClientHeader)
	}
	return all
}
