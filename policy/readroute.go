package policy

import (
	"net/netip"
	"strings"

	"routelimit/policy/route"
	"routelimit/policy/strictjson"
)

// mostLimits bounds the limits of one route: every request asks for all.
const mostLimits = 32

// routeDraft is a route that is being read.
type routeDraft struct {
	route *Route

	template, limits, per *strictjson.Node
	// The route's only limit, and those of its fields that stand in the route.
	only       limitDraft
	onlyFields []*strictjson.Node
}

// routeFields are those of a route and, for a route with one limit, of that.
var routeFields = append([]strictjson.Field[routeDraft]{
	{
		Name: "on_error", Read: (*routeDraft).readOnError,
		Doc: prose("what becomes of a request that Redis could not decide: `open` lets it pass, marked, `closed` answers 503, `local` lets this worker " +
			"decide by itself, with a share of each limit"),
		Default: prose(`"open"`), Example: prose(`"closed"`),
	},
	{
		Name: "exempt", Read: (*routeDraft).readExempt,
		Doc: prose("who is neither counted nor refused: addresses, networks, and identities by their hash, as `routelimit hash` prints them. " +
			"Identities in a body cannot be exempt"),
		Default: prose(`[]`), Example: prose(`["10.0.0.0/8", "2001:db8::/32"]`),
	},
	{
		Name: "limits", Read: func(d *routeDraft, n *strictjson.Node) { d.limits = n },
		Doc: prose("several limits, of which each has to let a request pass, in the place of one whose fields stand in the route itself. " +
			"An empty list: the route is known, and unlimited"),
		Example: prose(`[{"identity": "ip", "limit": 5, "window": "1s"}, {"identity": "ip", "limit": 100, "window": "1m"}]`),
	},
}, onlyLimitFields()...)

// fallbackFields are those of the default.
var fallbackFields = append([]strictjson.Field[routeDraft]{
	{
		Name: "per",
		Read: func(d *routeDraft, n *strictjson.Node) {
			_, d.route.PerEnvoyRoute = n.OneOf("envoy_route")
		},
		Doc:     prose("`envoy_route` gives the requests of each of Envoy's own routes, by its name, counts of their own; if not set, they share"),
		Example: prose(`"envoy_route"`),
	},
}, routeFields...)

// metadataFields are those of a route in the metadata of Envoy's own route.
var metadataFields = append([]strictjson.Field[routeDraft]{
	{
		Name: "route", Read: func(d *routeDraft, n *strictjson.Node) { d.template = n },
		Missing: `write what the limits are for, such as "route": "POST /login"`,
		Doc:     prose("the `METHOD template` that stands in keys, metrics and logs. Which requests the route is for, Envoy decides"),
		Example: prose(`"POST /login"`),
	},
}, routeFields...)

// onlyLimitFields are those of a limit, to be read into a route.
func onlyLimitFields() []strictjson.Field[routeDraft] {
	var fields []strictjson.Field[routeDraft]
	for _, field := range limitFields {
		fields = append(fields, strictjson.Field[routeDraft]{
			Name: field.Name, Doc: field.Doc, Default: field.Default, Example: field.Example,
			Read: func(d *routeDraft, n *strictjson.Node) {
				d.onlyFields = append(d.onlyFields, n)
				field.Read(&d.only, n)
			},
		})
	}
	return fields
}

// readRoute reads the fields of one route, but for its key.
func (r *reader) readRoute(n *strictjson.Node, fields []strictjson.Field[routeDraft]) routeDraft {
	d := routeDraft{route: &Route{definitions: r.policy.definitions, paths: r.policy.Paths}, only: r.newLimit()}
	before := r.document.Count()
	if !strictjson.ReadObject(n, &d, fields) {
		return d
	}
	places := []*strictjson.Node{n}
	limits := []limitDraft{d.only}
	switch {
	case d.limits == nil && len(d.onlyFields) == 0:
		n.Fail(`there is no limit; write "limit" and "window", or "limits": [] for a route without any`)
	case d.limits == nil:
		for _, field := range limitFields {
			n.Require(field.Name, field.Missing)
		}
		d.only.finish(before)
	default:
		for _, field := range d.onlyFields {
			field.FailName(`it stands beside "limits"; move it into that list`)
		}
		d.limits.State(func(f *strictjson.Facts) { f.MostItems = mostLimits })
		places = d.limits.Elements(`[{"identity": "ip", "limit": 100, "window": "1m"}]`)
		if len(places) > mostLimits {
			d.limits.Fail("there are %d limits; write at most %d for one route", len(places), mostLimits)
			return d
		}
		limits = limits[:0]
		for _, place := range places {
			limits = append(limits, r.readLimit(place))
		}
	}
	for i := range limits {
		d.route.Limits = append(d.route.Limits, limits[i].limit)
	}
	if r.document.Count() == before {
		nameLimits(d.route.Limits, places)
		checkLeases(limits)
	}
	return d
}

func (d *routeDraft) readOnError(n *strictjson.Node) {
	choice, _ := n.OneOf(onErrorNames...)
	d.route.OnError = OnError(choice)
}

func (d *routeDraft) readExempt(n *strictjson.Node) {
	for _, element := range n.Elements(`["10.0.0.0/8"]`) {
		element.StatePattern(prose("^([0-9A-Fa-f:.]+(/[0-9]{1,3})?|[a-z][a-z0-9_]*:[0-9a-f]{16})$"))
		text, ok := element.Text()
		if !ok {
			continue
		}
		prefix, ok := parsePrefix(text)
		switch {
		case ok && prefix != prefix.Masked():
			element.Fail("%s has bits set behind its length; write %q", element.Show(), prefix.Masked())
		case ok:
			d.route.Exempt = append(d.route.Exempt, prefix)
		case namesCaller(text):
			if err := d.route.definitions.Exempt(&d.route.ExemptCallers, text); err != nil {
				element.Fail("%v", err)
			}
		default:
			element.Fail(`%s is no address; write one such as "192.0.2.7", a network such as "10.0.0.0/8" or "2001:db8::/32", or an identity as routelimit hash prints it`, element.Show())
		}
	}
}

// parsePrefix reads an address or a network. An IPv4 address in IPv6 form is
// that IPv4 address, as it is in a request.
func parsePrefix(text string) (netip.Prefix, bool) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		zone := address.Zone() // Unmap drops it
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), err == nil && zone == ""
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && !prefix.Addr().Is4In6()
}

// namesCaller tells "username:2bd806c97f0e00af" from an address: one of IPv6 has
// two colons or more.
func namesCaller(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && strings.Count(text, ":") == 1 && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// readRoutes reads all routes and indexes them.
func (r *reader) readRoutes(n *strictjson.Node) {
	p := r.policy
	n.State(func(f *strictjson.Facts) { f.Names = prose(routePattern) })
	nodes := n.Members(`{"POST /login": {"identity": "ip", "limit": 10, "window": "5m"}}`)
	for i, member := range nodes {
		d := r.readRoute(member, routeFields)
		p.Routes = append(p.Routes, d.route)
		pattern, err := p.Paths.ParsePattern(member.Name())
		if err == nil {
			d.route.finish(p, member.Name(), pattern.Key())
			err = p.table.Add(pattern, i)
		}
		if same, ok := err.(*route.SameError); ok {
			earlier := nodes[same.Value]
			member.FailAgain(earlier, "%s and %s match the same requests; keep one", earlier.ShowName(), member.ShowName())
		} else if err != nil {
			member.FailName("%v", err)
		}
	}
	for _, hidden := range p.table.Unreachable() {
		nodes[hidden.Value].FailName("no request gets here, since %s take them all; remove one of them", showPatterns(hidden.By))
	}
}

// routePattern is a regular expression of what Reading.ParsePattern takes, and of
// little else.
const routePattern = `^(\*|[A-Za-z][A-Za-z0-9_-]{0,31}) [A-Za-z0-9_.-]{0,253}` +
	`(([/\\](:[A-Za-z][A-Za-z0-9_]{0,63}|\{[A-Za-z][A-Za-z0-9_]{0,63}\}|[^/\\\s?#*{}:][^/\\\s?#*{}]*)?)+([/\\]+\*)?|[/\\]+\*)[/\\]*$`

func showPatterns(patterns []route.Pattern) string {
	texts := make([]string, len(patterns))
	for i, pattern := range patterns {
		texts[i] = `"` + pattern.String() + `"`
	}
	return strings.Join(texts, " and ")
}

const fallbackKey = "default"

// readFallback reads what holds for requests that no route covers.
func (r *reader) readFallback(s *sections) {
	p := r.policy
	refuse := false
	if s.undeclared != nil {
		choice, _ := s.undeclared.OneOf("default", "refuse")
		refuse = choice == 1
	}
	p.RefuseUndeclared = refuse && p.Mode == Enforce
	switch {
	case s.fallback == nil && s.routes != nil && !refuse:
		s.routes.FailName(`a "default" is missing beside them; write a limit for all other requests, or "default": null to leave them unlimited`)
	case s.fallback != nil && !s.fallback.IsNull():
		d := r.readRoute(s.fallback, fallbackFields)
		d.route.finish(p, "", fallbackKey)
		p.Default = d.route
	}
}
