package advice

import (
	"fmt"
	"slices"

	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// checker collects findings about one policy.
type checker struct {
	policy   *policy.Policy
	root     *strictjson.Node
	routes   []routeAt // those of the configuration and, last, the default
	declared []*policy.Route
	found    []Finding
}

// routeAt is a route and where it stands; the node is nil if nobody knows.
type routeAt struct {
	*policy.Route
	node   *strictjson.Node
	limits []limitAt
}

// limitAt is a limit and where it stands.
type limitAt struct {
	*policy.Limit
	node *strictjson.Node
	// shadow is what the limit itself says, whatever the mode.
	shadow bool
}

func (c *checker) placeRoutes() []routeAt {
	var all []routeAt
	if routes := c.root.Member("routes"); routes != nil {
		for i, node := range routes.Children() {
			all = append(all, c.placeRoute(c.policy.Routes[i], node))
		}
	}
	if c.policy.Default != nil {
		all = append(all, c.placeRoute(c.policy.Default, c.root.Member("default")))
	}
	return all
}

// allRoutes are those of the configuration and those that Envoy's routes carry.
func (c *checker) allRoutes() []*policy.Route {
	all := slices.Clone(c.declared)
	for _, r := range c.routes {
		all = append(all, r.Route)
	}
	return all
}

func (c *checker) placeRoute(r *policy.Route, node *strictjson.Node) routeAt {
	placed := routeAt{Route: r, node: node}
	for i, l := range r.Limits {
		at := node
		if list := child(node, "limits"); list != nil {
			at = list.Children()[i]
		}
		shadow := l.Shadow
		if said := child(at, "shadow"); said != nil || c.policy.Mode == policy.Shadow {
			shadow = said != nil && said.Show() == "true"
		}
		placed.limits = append(placed.limits, limitAt{l, at, shadow})
	}
	return placed
}

// enforced are the limits of a route that refuse, in whatever mode.
func (r routeAt) enforced() []limitAt {
	var all []limitAt
	for _, l := range r.limits {
		if !l.shadow {
			all = append(all, l)
		}
	}
	return all
}

// quota is the limit's number, where there are plans that of the default.
func (l limitAt) quota() int64 { return l.Limit.Limit.Limit }

// quotas are all numbers that the limit may have.
func (l limitAt) quotas() []int64 {
	all := []int64{l.quota()}
	if l.Plans != nil {
		for _, plan := range l.Plans.Values {
			all = append(all, plan.Limit)
		}
	}
	return all
}

// identities are the components of a limit, with those of all alternatives.
func (l limitAt) identities() []identity.Component {
	var all []identity.Component
	for _, alternative := range l.Identity.Alternatives() {
		all = append(all, alternative...)
	}
	return all
}

// child is a member of an object, or nil.
func child(n *strictjson.Node, name string) *strictjson.Node {
	if n == nil {
		return nil
	}
	return n.Member(name)
}

// at is where a field of the limit stands, or the limit if it is not written.
func (l limitAt) at(field string) *strictjson.Node {
	if n := child(l.node, field); n != nil {
		return n
	}
	return l.node
}

func (c *checker) warn(rule string, n *strictjson.Node, format string, args ...any) {
	c.add(Finding{Rule: rule, Text: fmt.Sprintf(format, args...)}, n)
}

func (c *checker) fail(rule string, n *strictjson.Node, format string, args ...any) {
	c.add(Finding{Rule: rule, Error: true, Text: fmt.Sprintf(format, args...)}, n)
}

// add places a finding at the value, or at its key if it has one.
func (c *checker) add(f Finding, n *strictjson.Node) {
	switch {
	case n == nil:
	case n.Name() == "":
		f.Path = n.Path()
		f.Line, f.Column = n.Place()
	default:
		f.Path = n.Path()
		f.Line, f.Column = n.NamePlace()
	}
	c.found = append(c.found, f)
}
