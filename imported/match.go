package imported

import (
	"slices"
	"strings"

	"routelimit/bootstrap/yamltree"
)

// methods are some request methods, or all but them. The zero value is none.
type methods struct {
	names  []string
	except bool
}

var anyMethod = methods{except: true}

// other stands for every method that nobody names.
const other = "*"

// has takes other, too.
func (m methods) has(method string) bool { return slices.Contains(m.names, method) != m.except }

func (m methods) and(n methods) methods {
	switch {
	case m.except && n.except:
		return methods{append(slices.Clone(m.names), n.names...), true}
	case m.except:
		m, n = n, m
	}
	var both methods
	for _, name := range m.names {
		if n.has(name) {
			both.names = append(both.names, name)
		}
	}
	return both
}

// readMatch reads which requests a route is for.
func (c *converter) readMatch(route *envoyRoute, match *yamltree.Node) {
	route.methods = anyMethod
	at := func(n *yamltree.Node) Place { return placeOf(route.File, n) }
	for _, f := range match.Fields() {
		value, ok := f.Value, true
		sure := true
		switch f.Name {
		case "prefix":
			route.templates, sure, ok = fromPrefix(value.Text())
			if ok && !sure {
				c.lose(at(value), "prefix %q also matches longer names, such as %q, and a template ends with a segment; they fall to what else matches them here. Where none is served, write path_separated_prefix and see that nothing changes",
					value.Text(), value.Text()+"x")
			}
		case "path":
			route.templates, ok = fromExact(value.Text())
		case "path_separated_prefix", "pathSeparatedPrefix":
			route.templates, _, ok = fromPrefix(value.Text())
		case "safe_regex", "safeRegex":
			route.templates, ok = fromRegex(value.At("regex").Text())
		case "path_match_policy", "pathMatchPolicy":
			route.templates, ok = fromURITemplate(value.At("typed_config", "path_template").Text())
		case "headers":
			ok = route.readMethods(value)
		case "case_sensitive", "caseSensitive":
			ok = value.True()
		default: // query_parameters, grpc, runtime_fraction, tls_context, dynamic_metadata, cookies, connect_matcher
			ok = false
		}
		if !ok && route.why == "" {
			route.why = f.Name
		}
	}
	unnamed := func(t template) bool { return !isPattern("* " + t.String()) } // too long, say
	if route.why == "" && (len(route.templates) == 0 || slices.ContainsFunc(route.templates, unnamed)) {
		route.why = "match"
	}
	if route.why != "" {
		route.templates = nil
	}
}

// readMethods takes matchers of :method; false if there are others.
func (r *envoyRoute) readMethods(headers *yamltree.Node) bool {
	for _, h := range headers.Items() {
		if h.At("name").Text() != ":method" {
			return false
		}
		named, ok := methodsOf(h)
		if !ok {
			return false
		}
		r.methods = r.methods.and(named)
	}
	return true
}

// methodsOf reads a header matcher of :method that names methods.
func methodsOf(h *yamltree.Node) (methods, bool) {
	m := methods{except: h.At("invert_match").True()}
	if text, ok := exactOf(h); ok {
		m.names = []string{text}
	} else {
		regex := h.At("string_match", "safe_regex", "regex").Text() + h.At("safe_regex_match", "regex").Text()
		regex = strings.TrimSuffix(strings.TrimPrefix(regex, "^"), "$")
		m.names = strings.Split(strings.TrimSuffix(strings.TrimPrefix(regex, "("), ")"), "|")
	}
	for _, name := range m.names {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return methods{}, false
		}
	}
	return m, true
}

// exactOf is the text of a matcher that compares the whole value.
func exactOf(n *yamltree.Node) (string, bool) {
	exact := n.At("string_match", "exact")
	if exact == nil {
		exact = n.At("exact_match")
	}
	return exact.Text(), exact != nil && !n.At("string_match", "ignore_case").True() && !n.At("treat_missing_header_as_empty").True()
}
