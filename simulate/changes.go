package simulate

import (
	"fmt"
	"slices"
	"strings"

	"routelimit/policy"
	"routelimit/policy/identity"
)

// changes are what differs between two policies and can change who is refused, in
// words, in the order of the new policy.
func changes(old, new *policy.Policy) []string {
	list := []string{}
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	changed := func(what, a, b string) {
		if a != b {
			say("%s: %s -> %s", what, a, b)
		}
	}
	changed("mode", modes[old.Mode], modes[new.Mode])
	changed("client", client(old), client(new))
	changed("undeclared requests", undeclared(old), undeclared(new))
	changed("paths", paths(old), paths(new))
	changed("preflights", preflights(old), preflights(new))

	oldRoutes, newRoutes := routesOf(old, nil), routesOf(new, nil)
	for _, r := range newRoutes {
		was := routeOf(oldRoutes, r.Key)
		if was == nil {
			say("%s: new", r.Key)
			was = &policy.Route{}
		} else {
			changed(r.Key+", exempt", exempt(was), exempt(r))
			changed(r.Key+", per", per(was), per(r))
		}
		for _, l := range r.Limits {
			name := fmt.Sprintf("%s, limit %q", r.Key, l.Name)
			if before := limitOf(was, l.Name); before == nil {
				say("%s: new, %s", name, describeFully(l))
			} else {
				changed(name, describeFully(before), describeFully(l))
			}
		}
		for _, l := range was.Limits {
			if limitOf(r, l.Name) == nil {
				say("%s, limit %q: gone, was %s", r.Key, l.Name, describeFully(l))
			}
		}
	}
	for _, r := range oldRoutes {
		if routeOf(newRoutes, r.Key) == nil {
			say("%s: gone", r.Key)
		}
	}
	return list
}

var modes = [...]string{policy.Enforce: "enforce", policy.Shadow: "shadow", policy.Off: "off"}

func client(p *policy.Policy) string {
	c := p.Definitions().Client()
	hops := fmt.Sprintf("%d trusted hops", c.TrustedHops)
	if c.TrustedHops < 0 {
		hops = "whom Envoy trusts"
	}
	if c.IPv6Prefix == 0 {
		c.IPv6Prefix = 64
	}
	return fmt.Sprintf("%s, IPv6 by /%d", hops, c.IPv6Prefix)
}

func undeclared(p *policy.Policy) string {
	if p.RefuseUndeclared {
		return "refused"
	}
	return "by the default"
}

func preflights(p *policy.Policy) string {
	if p.CountPreflights {
		return "counted"
	}
	return "not counted"
}

func paths(p *policy.Policy) string {
	letters, parameters := "letter case counts", "parameters are cut off"
	if p.Paths.IgnoreCase {
		letters = "letter case does not count"
	}
	if p.Paths.KeepParameters {
		parameters = "parameters count"
	}
	return letters + ", " + parameters
}

func exempt(r *policy.Route) string {
	if len(r.Exempt) == 0 && r.ExemptCallers.Empty() {
		return "nobody"
	}
	all := r.ExemptCallers.Callers()
	for _, prefix := range r.Exempt {
		all = append(all, prefix.String())
	}
	return strings.Join(all, ", ")
}

func per(r *policy.Route) string {
	if r.PerEnvoyRoute {
		return "each of Envoy's routes"
	}
	return "all together"
}

func routeOf(routes []*policy.Route, key string) *policy.Route {
	if i := slices.IndexFunc(routes, func(r *policy.Route) bool { return r.Key == key }); i >= 0 {
		return routes[i]
	}
	return nil
}

func limitOf(r *policy.Route, name string) *policy.Limit {
	if i := slices.IndexFunc(r.Limits, func(l *policy.Limit) bool { return strings.EqualFold(l.Name, name) }); i >= 0 {
		return r.Limits[i]
	}
	return nil
}

// describeFully is a limit with all that decides whom it refuses.
func describeFully(l *policy.Limit) string {
	text := Terms(l) + " for " + l.Identity.String() + sourcesOf(l)
	if l.Cost != 1 {
		text += fmt.Sprintf(", cost %d", l.Cost)
	}
	if from := l.CostFrom.String(); from != "" {
		text += ", cost from " + from
	}
	if len(l.Count) > 0 {
		text += ", counting " + strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Count), " ", ", "), "[]")
	}
	if l.Bucket != "" {
		text += ", in bucket " + l.Bucket
	}
	if l.Shadow {
		text += ", shadow"
	}
	return text
}

// sourcesOf says where an identity's parts come from: " (header:x-api-key, folded)".
func sourcesOf(l *policy.Limit) string {
	var all []string
	for _, parts := range l.Identity.Alternatives() {
		for _, c := range parts {
			if text := sourceOf(c); text != "" && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func sourceOf(c identity.Component) string {
	text := c.Source.String()
	if text != "" && c.Fold {
		text += ", folded"
	}
	return text
}
