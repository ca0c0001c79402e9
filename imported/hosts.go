package imported

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/route"
)

// host is one virtual host.
type host struct {
	Place
	names  []string // "" for any; none: it cannot be named in a policy
	routes []*envoyRoute
}

// envoyRoute is one of Envoy's routes, in its order.
type envoyRoute struct {
	Place
	label     string // for people
	methods   methods
	templates []template // none: no template says what it matches
	why       string     // it has none
	asks      []*ask
}

// ask is one descriptor that Envoy asks the service about, and the filter that does.
type ask struct {
	*filter
	domain  string
	request request
	// elsewhere says that the paths which the service names have routes of their own.
	elsewhere bool
}

// mostRoutes bounds the routes of all virtual hosts, mostAsks their descriptors.
const (
	mostRoutes = 2000
	mostAsks   = 20_000
)

func (c *converter) readHosts(r routing) ([]*host, error) {
	var hosts []*host
	all := r.node.At("virtual_hosts").Items()
	routes := 0
	taken := map[string]bool{}
	for _, n := range all {
		h := &host{Place: placeOf(r.file, n)}
		for _, name := range c.hostNames(h, n, len(all) == 1) {
			if taken[name] {
				return nil, fmt.Errorf("%s: a virtual host before it has the domain %q, too; Envoy refuses that, correct it", h.Place, name)
			}
			taken[name] = true
			h.names = append(h.names, name)
		}
		for i, one := range n.At("routes").Items() {
			if routes++; routes > mostRoutes {
				return nil, fmt.Errorf("%s: there are more than %d routes; convert the virtual hosts one by one", placeOf(r.file, one), mostRoutes)
			}
			split := c.atPaths(c.readRoute(r, n, one, i))
			h.routes = append(h.routes, split...)
			routes += len(split) - 1
			if c.asks > mostAsks {
				return nil, fmt.Errorf("%s: the routes up to here have more than %d descriptors; convert the virtual hosts one by one", placeOf(r.file, one), mostAsks)
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// hostNames are those that a policy can have. The only virtual host is for any:
// Envoy answers all else with 404 itself.
func (c *converter) hostNames(h *host, n *yamltree.Node, only bool) []string {
	var names []string
	for _, domain := range n.At("domains").Items() {
		name := strings.ToLower(domain.Text())
		if bare, _, err := net.SplitHostPort(name); err == nil {
			name = bare
		}
		switch {
		case only || name == "*":
			return []string{""}
		case strings.Contains(name, "/") || !isPattern("* "+name+"/"):
			c.lose(placeOf(h.File, domain), "the domain %q is no single host, which is all that a policy's routes can name; its requests fall to the routes without a host. "+
				"Put limits into the metadata of its routes instead (filter_metadata: routelimit)", domain.Text())
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names
}

// isPattern says whether a policy can name a route so.
func isPattern(text string) bool {
	_, err := route.Reading{}.ParsePattern(text)
	return err == nil
}

func (c *converter) readRoute(r routing, hostNode, n *yamltree.Node, index int) *envoyRoute {
	er := &envoyRoute{Place: placeOf(r.file, n), label: n.At("name").Text()}
	if er.label == "" {
		er.label = fmt.Sprintf("route %d", index+1)
	}
	c.readMatch(er, n.At("match"))
	if n.At("route") == nil { // the filter looks at routes to clusters alone
		return er
	}
	for _, f := range c.filters {
		c.readAsks(er, f, r, hostNode, n)
	}
	return er
}

// readAsks finds the rate_limits that hold for a route and a filter, as Envoy's
// filter does (source/extensions/filters/http/ratelimit/ratelimit.cc).
func (c *converter) readAsks(er *envoyRoute, f *filter, r routing, hostNode, n *yamltree.Node) {
	add := func(list []*yamltree.Node, domain string, staged bool) {
		for _, limit := range list {
			if c.asks++; c.asks > mostAsks {
				return
			}
			stage, _ := limit.At("stage").Number()
			if staged && stage != f.stage {
				continue
			}
			if request, ok := c.readRequest(r, limit, n, staged); ok {
				er.asks = append(er.asks, &ask{filter: f, domain: domain, request: request})
			}
		}
	}
	per := perRoute(f.name, n, hostNode, r.node)
	domain := f.domain
	if own := per.At("domain").Text(); own != "" {
		domain = own
	}
	if c.domains[domain] == nil && !per.At("disabled").True() {
		c.loseDomain(f, domain)
		return
	}
	c.tellFilter(f)
	own := n.At("route", "rate_limits").Items()
	switch {
	case per.At("disabled").True():
	case len(per.At("rate_limits").Items()) > 0:
		add(per.At("rate_limits").Items(), domain, false)
	case len(f.own) > 0:
		add(f.own, domain, false)
	default:
		add(own, domain, true)
		vh := per.At("vh_rate_limits").Text()
		if n.At("route", "include_vh_rate_limits").True() || vh == "INCLUDE" || vh != "IGNORE" && len(own) == 0 {
			add(hostNode.At("rate_limits").Items(), domain, true)
		}
	}
}

// perRoute is the filter's own configuration nearest to a route.
func perRoute(filterName string, levels ...*yamltree.Node) *yamltree.Node {
	for _, level := range levels {
		for _, f := range level.At("typed_per_filter_config").Fields() {
			if f.Name != filterName {
				continue
			}
			if isType(f.Value, wrapperType) && !f.Value.At("disabled").True() {
				return f.Value.At("config")
			}
			return f.Value
		}
	}
	return nil
}
