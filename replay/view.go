package replay

import (
	"fmt"
	"slices"
	"strings"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/policy/identity"
)

// view is how requests are put together again from the lines of one layout.
type view struct {
	layout     *accesslog.Layout
	headers    []place // of one line each, by their names in lower case
	cookies    []place
	queries    []place
	fields     []place // of the body
	claims     []place
	properties []place // by their paths as Attributes has them

	leftOut map[*policy.Limit]bool
}

// place is where a value stands in Entry.Values.
type place struct {
	name string
	at   int
}

// CheckSource says why a source cannot be mapped to a field of a log, or nil.
func CheckSource(text string) error {
	source, err := identity.ParseSource(text)
	if err != nil {
		return err
	}
	if source.Kind() == "path" {
		return fmt.Errorf("source %q comes from the route's template and the path; leave the field out", text)
	}
	return nil
}

func newView(layout *accesslog.Layout) *view {
	v := &view{layout: layout, leftOut: map[*policy.Limit]bool{}}
	for at, text := range layout.Sources {
		source, err := identity.ParseSource(text)
		if err != nil {
			continue // CheckSource has refused it
		}
		list, name := (*[]place)(nil), source.Argument()
		switch source.Kind() {
		case "header":
			list, name = &v.headers, strings.ToLower(name)
		case "cookie":
			list = &v.cookies
		case "query":
			list = &v.queries
		case "body":
			list = &v.fields
		case "jwt_unverified":
			list = &v.claims
		case "metadata", "property":
			list = &v.properties
			name, _ = source.Property()
		default:
			continue
		}
		*list = append(*list, place{name, at})
	}
	return v
}

// leaves says whether the limit is left out: the log has no place for what any
// alternative of its identity needs.
func (v *view) leaves(l *policy.Limit) bool {
	out, known := v.leftOut[l]
	if !known {
		out = !slices.ContainsFunc(l.Identity.Alternatives(), func(all []identity.Component) bool {
			return !slices.ContainsFunc(all, func(c identity.Component) bool { return !v.has(c) })
		})
		v.leftOut[l] = out
	}
	return out
}

// Lacks lists what the components are read from and the log has no place for:
// "header:x-api-key", or "client" for the address.
func Lacks(layout *accesslog.Layout, components []identity.Component) []string {
	v := newView(layout)
	var lacks []string
	for _, c := range components {
		name := c.Source.String()
		if name == "" {
			name = "client"
		}
		if !v.has(c) && !slices.Contains(lacks, name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// Reads says whether some component is read from a place of this source, which a
// log's field has.
func Reads(source string, components []identity.Component) bool {
	with, without := newView(&accesslog.Layout{Sources: []string{source}}), newView(&accesslog.Layout{})
	return slices.ContainsFunc(components, func(c identity.Component) bool {
		switch {
		case c.Source.Kind() == "query":
			return named(with.queries, c.Source.Argument())
		case c.Name == "ip":
			return named(with.properties, sourceAddress)
		}
		return with.has(c) && !without.has(c)
	})
}

// has says whether the log has a place for a component.
func (v *view) has(c identity.Component) bool {
	argument := c.Source.Argument()
	switch c.Source.Kind() {
	case "":
		return c.Name != "ip" || v.layout.HasClient || v.layout.HasForwardedFor
	case "path":
		return true
	case "query": // the path is logged with its query, or the parameter by itself
		return true
	case "header":
		return v.hasHeader(strings.ToLower(argument))
	case "cookie":
		return namedInAnyCase(v.cookies, argument) || v.hasHeader("cookie")
	case "body":
		return namedInAnyCase(v.fields, argument)
	case "jwt_unverified":
		return named(v.claims, argument) || v.hasHeader("authorization")
	}
	path, _ := c.Source.Property()
	return named(v.properties, path) || path == sourceAddress && v.layout.HasClient
}

func (v *view) hasHeader(name string) bool {
	switch name {
	case ":method", ":path":
		return true
	case ":authority", "host":
		return v.layout.HasHost
	case "x-forwarded-for":
		return v.layout.HasForwardedFor
	}
	return named(v.headers, name)
}

func named(places []place, name string) bool {
	return slices.ContainsFunc(places, func(p place) bool { return p.name == name })
}

// namedInAnyCase is for names that identities compare without regard to letter case.
func namedInAnyCase(places []place, name string) bool {
	return slices.ContainsFunc(places, func(p place) bool { return strings.EqualFold(p.name, name) })
}
