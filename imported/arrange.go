package imported

import (
	"fmt"
	"reflect"
	"slices"
)

// out is a route of the policy.
type out struct {
	method, host, template string
	path                   template
	carried                *envoyRoute // its limits belong into the metadata of this route
	limits                 []draft
	closed                 bool
}

// mostMethods bounds the methods that the routes of a virtual host name.
const mostMethods = 40

// arrange makes the policy's routes: for each virtual host, template and method
// those limits that hold on the first of Envoy's routes that is for it.
func (c *converter) arrange(hosts []*host) ([]out, error) {
	var all []out
	for _, h := range hosts {
		set := slices.Clone(whole)
		for _, r := range h.routes {
			set = append(set, r.templates...)
		}
		set, ok := closed(set)
		if !ok {
			return nil, fmt.Errorf("%s: the routes and what they have in common are more than %d paths; convert virtual hosts one by one, or name paths in place of parameters", h.Place, mostTemplates)
		}
		if n := len(h.methods()); n > mostMethods {
			return nil, fmt.Errorf("%s: the routes name %d methods; at most %d can be told apart", h.Place, n, mostMethods)
		}
		for _, name := range h.names {
			for _, t := range set {
				all = append(all, c.methodsOf(h, name, t)...)
			}
		}
		for _, r := range h.routes {
			if o := c.carriedBy(h, r); len(o.limits) > 0 {
				all = append(all, o)
			}
		}
	}
	return needed(all), nil
}

// methodsOf are the routes of one template: one for all methods that nobody names,
// and one for each that differs from it.
func (c *converter) methodsOf(h *host, name string, t template) []out {
	rest := c.first(h, t, other)
	rest.method, rest.host, rest.template, rest.path = other, name, t.String(), t
	routes := []out{rest}
	for _, method := range h.methods() {
		o := c.first(h, t, method)
		falls := rest // to what the policy would take for it
		if i := slices.IndexFunc(routes, func(o out) bool { return o.method == "GET" }); method == "HEAD" && i >= 0 {
			falls = routes[i]
		}
		if !reflect.DeepEqual(o.limits, falls.limits) || o.closed != falls.closed {
			o.method, o.host, o.template, o.path = method, name, rest.template, t
			routes = append(routes, o)
		}
	}
	return routes
}

// methods are those that some matcher names, and HEAD last, which would fall to GET.
func (h *host) methods() []string {
	var names []string
	for _, r := range h.routes {
		names = append(names, r.methods.names...)
		for _, a := range r.asks {
			names = append(names, a.request.methods.names...)
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "HEAD" })
	return append(names, "HEAD")
}

// first are the limits of the first route of Envoy's that is for a template and a
// method; none if there is no such route.
func (c *converter) first(h *host, t template, method string) out {
	for _, r := range h.routes {
		if r.methods.has(method) && slices.ContainsFunc(r.templates, func(one template) bool { return one.covers(t) }) {
			return c.limitsOf(r, method)
		}
	}
	return out{}
}

// carriedBy are the limits of a route that has no template, or a host that has no
// name: they can only stand in its metadata.
func (c *converter) carriedBy(h *host, r *envoyRoute) out {
	if len(r.templates) > 0 && len(h.names) > 0 {
		return out{}
	}
	method := other
	if !r.methods.except && len(r.methods.names) > 0 {
		method = r.methods.names[0]
	}
	o := c.limitsOf(r, method)
	o.method, o.template, o.carried = method, "/"+label(r.label, 64), r
	if !r.methods.except && len(r.methods.names) > 1 {
		o.method = other
	}
	for _, a := range r.asks {
		for _, name := range a.request.methods.names {
			if len(o.limits) > 0 && r.methods.has(name) && (r.methods.except || len(r.methods.names) > 1) {
				c.lose(a.request.Place, "the limits of %q differ by method, and those in a route's metadata cannot; split the route", r.label)
			}
		}
	}
	return o
}

// limitsOf are all limits of a route of Envoy's for a method.
func (c *converter) limitsOf(r *envoyRoute, method string) out {
	if o, ok := c.known[limitsKey{r, method}]; ok {
		return o
	}
	var o out
	for _, f := range c.filters {
		limits := c.limitsOfFilter(r, f, method)
		if len(limits) > 0 {
			o.closed = o.closed || f.closed
		}
		o.limits = append(o.limits, limits...)
	}
	if len(o.limits) > mostLimits {
		c.lose(r.Place, "%q has %d limits; a route can have %d here, the others are left out", r.label, len(o.limits), mostLimits)
		o.limits = o.limits[:mostLimits]
	}
	c.known[limitsKey{r, method}] = o
	return o
}

// mostLimits of a route, and mostCost of a limit, are what a policy takes.
const (
	mostLimits = 32
	mostCost   = 1_000_000
)

// limitsOfFilter are those of one request to the service, with its replaces and
// quota_mode.
func (c *converter) limitsOfFilter(r *envoyRoute, f *filter, method string) []draft {
	var limits []draft
	var rules []rule
	var sure []bool // parallel to rules: it holds for every request of the route
	for _, a := range r.asks {
		if a.filter != f || !a.request.methods.has(method) {
			continue
		}
		own := c.rulesOf(a)
		rules = append(rules, own...)
		for range own {
			always := !slices.ContainsFunc(a.request.entries, func(e entry) bool { return e.optional })
			sure = append(sure, len(own) == 1 && len(a.request.when) == 0 && always)
		}
		for _, d := range c.draftsOf(a) {
			limits = merged(limits, d)
		}
	}
	for i, replacing := range rules {
		if replacing.limit != nil {
			limits = c.replace(limits, replacing.limit, sure[i])
		}
	}
	quotas := 0
	for _, d := range limits {
		if d.service.quotaMode {
			quotas++
		}
	}
	if quotas > 1 {
		c.lose(r.Place, "quota_mode: the service refused a request of %q only when all %d quotas were used up; here each of them refuses by itself", r.label, quotas)
	}
	return limits
}

// merged adds a limit. One that is asked about twice is charged twice.
func merged(limits []draft, d draft) []draft {
	for i := range limits {
		one := &limits[i]
		if one.counter == d.counter && one.window == d.window && one.shadow == d.shadow && one.by == d.by && one.costFrom == "" && d.costFrom == "" && one.cost+d.cost <= mostCost {
			one.cost += d.cost
			return limits
		}
	}
	return append(limits, d)
}

// replace takes the limits out that another replaces.
func (c *converter) replace(limits []draft, by *quota, sure bool) []draft {
	return slices.DeleteFunc(limits, func(d draft) bool {
		if d.service == by || d.service.name == "" || !slices.Contains(by.replaces, d.service.name) {
			return false
		}
		if !sure || d.by != "" {
			c.lose(by.Place, "it replaces %q for some requests alone, which no limit can here; both hold for all of them", d.service.name)
			return false
		}
		return true
	})
}

// needed drops the routes without limits that keep no request from another one's.
func needed(all []out) []out {
	return slices.DeleteFunc(slices.Clone(all), func(o out) bool {
		return len(o.limits) == 0 && !slices.ContainsFunc(all, func(p out) bool { return len(p.limits) > 0 && p.carried == nil && o.shields(p) })
	})
}

// shields reports whether o takes requests that p would have. A host's routes come
// before all that have none, however narrow those are.
func (o out) shields(p out) bool {
	if o.host != "" && p.isDefault() {
		return true
	}
	if o.host != "" && p.host == "" {
		_, meet := o.path.intersect(p.path)
		return meet
	}
	if o.template == p.template && o.method == other && p.method != other {
		return false
	}
	return o.host == p.host && (p.isDefault() || p.path.covers(o.path))
}

// isDefault tells the one that becomes the policy's default, which is for "/", too.
func (o out) isDefault() bool {
	return o.host == "" && o.method == other && o.path.rest && len(o.path.segments) == 0 && o.carried == nil
}
