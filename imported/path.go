package imported

import (
	"slices"
	"strconv"
	"strings"
)

// template is a path as a policy's routes have it: segments, "" for a parameter,
// and with rest one segment or more behind them.
type template struct {
	segments []string
	rest     bool
}

// String is as a policy writes it.
func (t template) String() string {
	var b strings.Builder
	for i, s := range t.segments {
		b.WriteString("/")
		if s == "" {
			b.WriteString(":p" + strconv.Itoa(i+1))
		} else {
			b.WriteString(s)
		}
	}
	if t.rest {
		b.WriteString("/*")
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// whole is every path: "/" and "/*".
var whole = []template{{}, {rest: true}}

// covers reports whether every path of t is one of r.
func (r template) covers(t template) bool {
	switch {
	case len(t.segments) < len(r.segments),
		!r.rest && (t.rest || len(t.segments) != len(r.segments)),
		r.rest && !t.rest && len(t.segments) == len(r.segments):
		return false
	}
	for i, s := range r.segments {
		if s != "" && s != t.segments[i] {
			return false
		}
	}
	return true
}

// intersect returns the paths of both; false if there are none.
func (r template) intersect(t template) (template, bool) {
	if len(r.segments) > len(t.segments) {
		r, t = t, r
	}
	// r is not the longer one.
	if len(r.segments) < len(t.segments) && !r.rest || len(r.segments) == len(t.segments) && r.rest != t.rest {
		return template{}, false
	}
	both := template{slices.Clone(t.segments), t.rest}
	for i, s := range r.segments {
		switch {
		case both.segments[i] == "":
			both.segments[i] = s
		case s != "" && s != both.segments[i]:
			return template{}, false
		}
	}
	return both, true
}

// mostTemplates bounds what routes make together.
const mostTemplates = 8000

// closed adds the intersections of all templates. In a set that has them, the one
// that a policy takes for a path, static before parameter before rest, is the
// intersection of all that match it, so the routes that match the path are those
// that cover it. It is false if there are too many.
func closed(all []template) ([]template, bool) {
	seen := map[string]bool{}
	var set []template
	add := func(t template) {
		if !seen[t.String()] {
			seen[t.String()] = true
			set = append(set, t)
		}
	}
	for _, t := range all {
		add(t)
	}
	for i := 0; i < len(set); i++ {
		for j := range i {
			if both, ok := set[i].intersect(set[j]); ok {
				add(both)
			}
		}
		if len(set) > mostTemplates {
			return nil, false
		}
	}
	return set, true
}

// literal is a path of Envoy's without what a template reads as something else;
// false if no request is matched that way.
func literal(path string) ([]string, bool) {
	var segments []string
	for s := range strings.SplitSeq(path, "/") {
		switch {
		case s == "":
			continue
		case s == "." || s == ".." || strings.ContainsAny(s, ";?#\\%") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			return nil, false
		}
		segments = append(segments, escape.Replace(s))
	}
	return segments, true
}

var escape = strings.NewReplacer(":", "%3A", "{", "%7B", "}", "%7D", "*", "%2A")

// fromExact is Envoy's path.
func fromExact(path string) ([]template, bool) {
	segments, ok := literal(path)
	return []template{{segments: segments}}, ok && strings.HasPrefix(path, "/")
}

// fromPrefix is Envoy's prefix as far as it ends with a segment; sure is false where
// Envoy also matches longer names of the last segment.
func fromPrefix(prefix string) (templates []template, sure, ok bool) {
	segments, ok := literal(prefix)
	if !ok || !strings.HasPrefix(prefix, "/") {
		return nil, false, false
	}
	return []template{{segments: segments}, {segments: segments, rest: true}}, strings.HasSuffix(prefix, "/"), true
}

// fromRegex is a regular expression that says no more than a template: literal
// segments, [^/]+ for one, and .* or .+ for the rest.
func fromRegex(regex string) ([]template, bool) {
	regex = strings.TrimSuffix(strings.TrimPrefix(regex, "^"), "$")
	if !strings.HasPrefix(regex, "/") {
		return nil, false
	}
	var t template
	parts := strings.Split(strings.ReplaceAll(regex, "[^/]", "[^]"), "/")[1:]
	for i, part := range parts {
		switch last := i == len(parts)-1; {
		case part == "[^]+":
			t.segments = append(t.segments, "")
		case last && part == ".+":
			t.rest = true
		case last && part == ".*":
			return []template{{segments: t.segments}, {t.segments, true}}, true
		case last && part == "" && i > 0:
		default:
			plain := strings.NewReplacer(`\.`, ".", `\-`, "-").Replace(part)
			if strings.Contains(part, ".") && strings.Count(part, `\.`) != strings.Count(part, ".") || strings.ContainsAny(plain, `\^$|?*+()[]{}`) || part == "" && len(parts) > 1 {
				return nil, false
			}
			segments, ok := literal(plain)
			if !ok {
				return nil, false
			}
			t.segments = append(t.segments, segments...)
		}
	}
	return []template{t}, true
}

// fromURITemplate is Envoy's uri_template: {name} or * for a segment, ** or
// {name=**} at the end for the rest.
func fromURITemplate(text string) ([]template, bool) {
	var t template
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	parts := strings.Split(text, "/")[1:]
	for i, part := range parts {
		isVariable := strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}")
		_, pattern, hasPattern := strings.Cut(strings.Trim(part, "{}"), "=")
		switch {
		case part == "*", isVariable && !hasPattern, isVariable && pattern == "*":
			t.segments = append(t.segments, "")
		case i == len(parts)-1 && (part == "**" || isVariable && pattern == "**"):
			return []template{{segments: t.segments}, {t.segments, true}}, true
		default:
			segments, ok := literal(part)
			if !ok || len(segments) != 1 || strings.ContainsAny(part, "{}*") {
				return nil, false
			}
			t.segments = append(t.segments, segments...)
		}
	}
	return []template{t}, true
}
