package imported

import (
	"slices"
	"strings"
)

// pathSource is what :path becomes: the path without the query, so that no query gets a caller a fresh count.
const pathSource = "property:request.url_path"

// atPaths makes routes of those values of :path that a descriptor of this route names: each comes before the rest, and has
// its value for certain. No plan is made of them, since a policy's routes know paths by all their spellings.
func (c *converter) atPaths(er *envoyRoute) []*envoyRoute {
	if len(er.templates) == 0 || !slices.ContainsFunc(er.asks, asksPath) {
		return []*envoyRoute{er}
	}
	var split []*envoyRoute
	named := map[string]string{}
	for _, value := range c.pathsOf(er) {
		t, ok := pathTemplate(value)
		if !ok || !slices.ContainsFunc(er.templates, func(one template) bool { return one.covers(t) }) {
			continue
		}
		if first := named[t.String()]; first != "" {
			c.lose(er.Place, "the paths %q and %q are one here, and have the limit of %q", first, value, first)
			continue
		}
		named[t.String()] = value
		split = append(split, er.at(value, t))
	}
	return append(split, er.elsewhere())
}

func asksPath(a *ask) bool {
	return slices.ContainsFunc(a.request.entries, func(e entry) bool { return e.source == pathSource }) ||
		slices.ContainsFunc(a.request.when, func(w condition) bool { return w.source == pathSource })
}

// pathTemplate is the route of a value of :path; false if there is none, as for one with a query.
func pathTemplate(value string) (template, bool) {
	templates, ok := fromExact(value)
	return templates[0], ok && isPattern("* "+templates[0].String())
}

// pathsOf are the values that the service or a matcher compares :path with, each once.
func (c *converter) pathsOf(er *envoyRoute) []string {
	var values []string
	for _, a := range er.asks {
		for i, e := range a.request.entries {
			if root := c.domains[a.domain]; root != nil && e.source == pathSource {
				values = append(values, root.valuesAt(i, e.key)...)
			}
		}
		for _, w := range a.request.when {
			if w.source == pathSource {
				values = append(values, w.value)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(values, func(value string) bool {
		again := seen[value]
		seen[value] = true
		return again
	})
}

// at is the part of a route that is for one path.
func (er *envoyRoute) at(value string, t template) *envoyRoute {
	one := *er
	one.templates, one.asks = []template{t}, nil
	for _, a := range er.asks {
		own := *a
		own.request.entries = slices.Clone(a.request.entries)
		for i, e := range own.request.entries {
			if e.source == pathSource {
				own.request.entries[i].source, own.request.entries[i].value = "", value
			}
		}
		if own.settle(func(path string) bool { return path == value }) {
			one.asks = append(one.asks, &own)
		}
	}
	return &one
}

// elsewhere is the part of a route that is for no path that has a route of its own.
func (er *envoyRoute) elsewhere() *envoyRoute {
	rest := *er
	rest.asks = nil
	for _, a := range er.asks {
		own := *a
		own.elsewhere = true
		if own.settle(func(string) bool { return false }) {
			rest.asks = append(rest.asks, &own)
		}
	}
	return &rest
}

// settle drops the conditions on the path, of which it is known whether they hold. It is false if one does not, so that
// Envoy does not ask.
func (a *ask) settle(is func(path string) bool) bool {
	holds := true
	a.request.when = slices.DeleteFunc(slices.Clone(a.request.when), func(w condition) bool {
		if w.source == pathSource {
			holds = holds && is(w.value) != w.not
		}
		return w.source == pathSource
	})
	return holds
}

// losePath says so of a path that has no route.
func (c *converter) losePath(d *descriptor, value string) {
	markUsed(d)
	c.lose(d.Place, "the path %q cannot be a route here, so it has the limit of all other paths; a route has no query, and one whose limits stand in its metadata has one limit for all paths", value)
}

// valuesAt are the whole values of a key at a depth of the service's tree.
func (d *descriptor) valuesAt(depth int, key string) []string {
	var values []string
	for _, child := range d.children {
		if depth > 0 {
			values = append(values, child.valuesAt(depth-1, key)...)
		} else if value, ok := strings.CutPrefix(child.name, key+"_"); ok && !strings.Contains(value, "*") {
			values = append(values, value)
		}
	}
	return values
}
