package policy

import (
	"strings"

	"routelimit/limit"
	"routelimit/policy/strictjson"
)

// nameLimits gives limits without a name the text of their identity, with the
// window behind it where two would have the same. places are where they stand.
func nameLimits(limits []*Limit, places []*strictjson.Node) {
	unnamed := map[string]int{}
	for _, l := range limits {
		if l.Name == "" {
			unnamed[l.Identity.String()]++
		}
	}
	seen := map[string]bool{}
	for i, l := range limits {
		if l.Name == "" {
			l.Name = l.Identity.String()
			if unnamed[l.Name] > 1 {
				l.Name += "/" + strictjson.FormatDuration(l.Window)
			}
		}
		folded := strings.ToLower(l.Name)
		if seen[folded] {
			places[i].Fail("two limits are called %q (letter case does not count); give each a \"name\" of its own", l.Name)
		}
		seen[folded] = true
	}
}

// finish sets what follows from a route's fields and its key.
func (r *Route) finish(p *Policy, template, key string) {
	r.Template, r.Key = template, key
	first := map[keySource]int{}
	r.OneKey, r.Lasting = true, true
	for i, l := range r.Limits {
		if l.Identity == nil {
			return // reported
		}
		l.Route = r
		l.Shadow = l.Shadow || p.Mode == Shadow
		if !l.Shadow {
			r.Lease = l.Lease // that of all of them
		}
		l.Labels = Labels{
			Route: key, Limit: l.Name, Identity: l.Identity.String(),
			Algorithm: l.Algorithm.String(), Window: strictjson.FormatDuration(l.Window),
		}
		l.charge = limit.NewCharge(&l.Limit, l.Cost)
		l.varies = l.newVariable()
		l.setKeyHead(p.Redis.KeyPrefix)

		source := keySource{l.keyHead, l.Labels.Identity}
		if _, ok := first[source]; !ok {
			first[source] = i
		}
		l.sameKey = first[source]
		r.OneKey = r.OneKey && l.sameKey == 0
		r.Lasting = r.Lasting && r.OneKey && len(l.Count) == 0 && l.Bucket == "" && l.CostFrom.Kind() == ""

		r.NeverUnasked = r.NeverUnasked || r.OnError != Open && l.Enforced()
		r.NeedsBody = r.NeedsBody || l.Identity.NeedsBody()
		if r.Blocked == nil && l.Limit.Limit == 0 && !l.Shadow && l.varies == nil {
			r.Blocked = l
		}
	}
}

// keySource is what a limit's key is made of, before the request.
type keySource struct{ head, identity string }

// setKeyHead writes the part of the key that no request changes. The three
// kinds stay apart: a bucket's name holds no slash and every route's key does,
// and that of a route holds a colon before its first slash.
func (l *Limit) setKeyHead(prefix string) {
	switch {
	case l.Bucket != "":
		l.keyHead = prefix + ":{bucket:" + l.Bucket + "|"
	case l.Route.PerEnvoyRoute:
		l.keyHead = prefix + ":{" + l.Route.Key + "/"
		l.keyPerRoute = true
	default:
		l.keyHead = prefix + ":{" + l.Route.Key + "|"
	}
}
