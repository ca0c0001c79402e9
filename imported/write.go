package imported

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"routelimit/policy/strictjson"
)

// named is a source and the identity that the policy has for it.
type named struct{ source, name string }

// write makes the policy, and the findings about limits that belong elsewhere.
func (c *converter) write(routes []out) *Result {
	b := buckets(routes)
	result := &Result{}
	var paths members
	fallback := any(nil)
	for _, o := range routes {
		body := c.routeBody(o, b)
		result.Routes, result.Limits = result.Routes+1, result.Limits+len(o.limits)
		switch {
		case o.carried != nil:
			c.tellCarried(o, body)
			result.Routes, result.Limits = result.Routes-1, result.Limits-len(o.limits)
		case o.isDefault():
			fallback = body
		case o.host == "" && o.method == other && o.template == "/" && sameAsDefault(o, routes):
			result.Routes, result.Limits = result.Routes-1, result.Limits-len(o.limits)
		default:
			paths = append(paths, member{name: o.method + " " + o.host + o.template, value: body, tall: len(o.limits) > 1})
		}
	}
	var top members
	if c.prefix6 != 0 {
		top = append(top, member{name: "client", value: members{{name: "ipv6_prefix", value: c.prefix6}}})
	}
	var identities members
	for _, s := range c.sources {
		identities = append(identities, member{name: s.name, value: members{{name: "from", value: s.source}}})
	}
	if len(identities) > 0 {
		top = append(top, member{name: "identities", value: identities, tall: true})
	}
	top = append(top, member{name: "count_preflights", value: true})
	top = c.appendAnswers(top)
	if len(paths) > 0 {
		top = append(top, member{name: "routes", value: paths, tall: true})
	}
	top = append(top, member{name: "default", value: fallback, tall: fallback != nil && len(fallback.(members)) == 2})

	var text strings.Builder
	appendJSON(&text, top, "", true)
	result.Policy = []byte(text.String() + "\n")
	result.Findings = c.findings
	return result
}

// sameAsDefault tells that "/" need not be named beside the default.
func sameAsDefault(o out, routes []out) bool {
	named := 0
	for _, p := range routes {
		if p.host == "" && p.carried == nil && p.path.covers(template{}) {
			named++
		}
	}
	return named == 1 && slices.ContainsFunc(routes, func(p out) bool {
		return p.isDefault() && p.closed == o.closed && reflect.DeepEqual(p.limits, o.limits)
	})
}

// buckets gives a name to each count that several routes charge, or that would share
// a field with another count of the same callers.
func buckets(routes []out) map[string]string {
	on := map[string][]int{}
	shared := map[string]bool{}
	for i, o := range routes {
		if o.host == "" && o.method == other && o.template == "/" && o.carried == nil && sameAsDefault(o, routes) {
			continue
		}
		for j, d := range o.limits {
			if !slices.Contains(on[d.count()], i) {
				on[d.count()] = append(on[d.count()], i)
			}
			for _, other := range o.limits[:j] {
				if slices.Equal(other.sources, d.sources) && other.window == d.window && other.shadow == d.shadow && other.count() != d.count() {
					shared[d.count()] = true
				}
			}
		}
	}
	names := map[string]string{}
	taken := map[string]bool{}
	for _, o := range routes {
		for _, d := range o.limits {
			if names[d.count()] == "" && (len(on[d.count()]) > 1 || shared[d.count()]) {
				names[d.count()] = unique(label(d.name, 60), "-", taken)
			}
		}
	}
	return names
}

// unique makes a name different from all that are taken, whatever the letter case.
func unique(name, joint string, taken map[string]bool) string {
	free := name
	for i := 2; taken[strings.ToLower(free)]; i++ {
		free = name + joint + strconv.Itoa(i)
	}
	taken[strings.ToLower(free)] = true
	return free
}

// routeBody is the value of a route.
func (c *converter) routeBody(o out, buckets map[string]string) members {
	var body members
	if o.closed {
		body = append(body, member{name: "on_error", value: "closed"})
	}
	taken := map[string]bool{}
	limits := list{}
	for _, d := range o.limits {
		limits = append(limits, c.limitBody(d, buckets[d.count()], taken))
	}
	if len(limits) == 1 {
		return append(body, limits[0].(members)...)
	}
	return append(body, member{name: "limits", value: limits, tall: len(limits) > 0})
}

func (c *converter) limitBody(d draft, bucket string, taken map[string]bool) members {
	m := members{{name: "name", value: unique(d.name, "-", taken)}, {name: "identity", value: c.identityOf(d)}}
	if d.by == "" {
		m = append(m, member{name: "limit", value: d.number})
	} else {
		var values members
		for _, v := range d.values {
			values = append(values, member{name: v.value, value: v.number})
		}
		m = append(m, member{name: "limit", value: members{{name: "by", value: d.by}, {name: "values", value: values}, {name: "default", value: d.number}}})
	}
	m = append(m, member{name: "window", value: strictjson.FormatDuration(d.window)}, member{name: "algorithm", value: "fixed_window"})
	switch {
	case d.costFrom != "":
		m = append(m, member{name: "cost", value: d.costFrom})
	case d.cost > 1:
		m = append(m, member{name: "cost", value: d.cost})
	}
	if d.shadow {
		m = append(m, member{name: "shadow", value: true})
	}
	if bucket != "" {
		m = append(m, member{name: "bucket", value: bucket})
	}
	return m
}

// identityOf names what is needed together.
func (c *converter) identityOf(d draft) string {
	var names []string
	for _, source := range d.sources {
		names = append(names, c.nameOf(source))
	}
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, "+")
}

// nameOf is the identity of a source.
func (c *converter) nameOf(source string) string {
	if source == "ip" {
		return source
	}
	for _, s := range c.sources {
		if s.source == source {
			return s.name
		}
	}
	_, argument, _ := strings.Cut(source, ":")
	if i := strings.LastIndexAny(argument, "/."); i >= 0 {
		argument = argument[i+1:]
	}
	base := strings.Trim(strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(label(argument, 56))), "_")
	if base == "" || base[0] < 'a' || base[0] > 'z' {
		base = "id_" + base
	}
	taken := map[string]bool{"ip": true, "all": true}
	for _, s := range c.sources {
		taken[s.name] = true
	}
	name := unique(base, "_", taken)
	c.sources = append(c.sources, named{source, name})
	return name
}

// appendAnswers adds what a refused caller gets.
func (c *converter) appendAnswers(top members) members {
	if !slices.ContainsFunc(c.filters, func(f *filter) bool { return f.quotas }) {
		top = append(top, member{name: "headers", value: "none"})
	}
	var response members
	for _, f := range c.filters {
		if f.status != "" {
			if status := statusOf(f.status); status >= 400 && status <= 599 && status != 429 {
				response = append(response, member{name: "status", value: status})
			}
		}
		if headers := c.headersOf(f); len(headers) > 0 {
			response = append(response, member{name: "headers", value: headers})
		}
		if len(response) > 0 {
			break
		}
	}
	if len(response) > 0 {
		top = append(top, member{name: "response", value: response})
	}
	return top
}

// statusOf reads a status by its number or Envoy's name for it.
func statusOf(text string) int {
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	for status := 400; status < 600; status++ {
		if text != "" && strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status)) == text {
			return status
		}
	}
	return 0
}

func (c *converter) headersOf(f *filter) members {
	var headers members
	for _, n := range f.headers.Items() {
		name, value := strings.ToLower(n.At("header", "key").Text()), n.At("header", "value").Text()
		if !isHeader(name, value) {
			c.note(placeOf(f.File, n), "the header %q was not taken over into response.headers; add it there if it can stand as it is", name)
			continue
		}
		if !slices.ContainsFunc(headers, func(m member) bool { return m.name == name }) {
			headers = append(headers, member{name: name, value: value})
		}
	}
	return headers
}

// isHeader keeps to what is certain: no substitution, and no header that
// response.headers refuses.
func isHeader(name, value string) bool {
	plain := func(r rune) bool { return r < 0x21 || r > 0x7e || r == '%' }
	return strings.HasPrefix(name, "x-") && !strings.HasPrefix(name, "x-envoy") && !strings.ContainsFunc(name+value, plain) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// tellCarried says which limits have to stand in the metadata of Envoy's route.
func (c *converter) tellCarried(o out, body members) {
	var text strings.Builder
	fields := append(members{{name: "route", value: o.method + " " + o.template}}, body...)
	for i := range fields {
		fields[i].tall = false
	}
	appendJSON(&text, members{{name: "filter_metadata", value: members{{name: "routelimit", value: fields}}}}, "", false)
	what := "its " + o.carried.why
	if o.carried.why == "" {
		what = "its host"
	}
	c.lose(o.carried.Place, "%q: %s has no equivalent in a policy's routes; give this route of Envoy's its limits itself, with metadata: %s", o.carried.label, what, text.String())
}
