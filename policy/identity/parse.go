package identity

import (
	"slices"
	"strings"

	"routelimit/plainfmt"
	"routelimit/policy/strictjson"
)

// ParseExpr reads an identity:
//
//	alternatives = all {"|" all}
//	all          = name {"+" name}
//	name         = [a-z][a-z0-9_]*
//
// Names are those of the declared components, "ip" and "all". An alternative
// that can never count, since one before it is always present or the same, is
// an error.
func (d *Definitions) ParseExpr(text string) (*Expr, error) {
	e := &Expr{text: text, definitions: d}
	for a := range strings.SplitSeq(text, "|") {
		parsed, err := d.parseAlternative(text, a)
		if err != nil {
			return nil, err
		}
		if earlier := e.shadowing(parsed); earlier != "" {
			return nil, plainfmt.Errorf("identity %q: %q can never count, since %q comes before it; take one of them out", text, a, earlier)
		}
		e.alternatives = append(e.alternatives, parsed)
	}
	return e, nil
}

func (d *Definitions) parseAlternative(expr, text string) (alternative, error) {
	a := alternative{text: text}
	for name := range strings.SplitSeq(text, "+") {
		if !isName(name) {
			return a, plainfmt.Errorf(`identity %q: %q is no name; write names with "+" or "|" between them, such as "user_id|ip"`, expr, name)
		}
		if a.has(name) {
			return a, plainfmt.Errorf("identity %q: %q occurs twice in %q; write it once", expr, name, text)
		}
		component, declared := d.components[name]
		if !declared && name != nameIP && name != nameAll {
			return a, plainfmt.Errorf("identity %q: no identity is called %q; %s", expr, name, d.advise(name))
		}
		a.parts = append(a.parts, part{name: name, declared: component})
	}
	return a, nil
}

func (a *alternative) has(name string) bool {
	return slices.ContainsFunc(a.parts, func(p part) bool { return p.name == name })
}

// shadowing gives the earlier alternative that is present whenever later is:
// all its components are among later's. ("all" needs nothing.)
func (e *Expr) shadowing(later alternative) string {
	for _, earlier := range e.alternatives {
		always := true
		for _, p := range earlier.parts {
			always = always && (p.name == nameAll || later.has(p.name))
		}
		if always {
			return earlier.text
		}
	}
	return ""
}

// advise says what could have been written for a name that is not known.
func (d *Definitions) advise(name string) string {
	known := d.names()
	if near, ok := strictjson.Nearest(name, known); ok {
		return plainfmt.Sprintf("did you mean %q?", near)
	}
	return "write one of " + strings.Join(known, ", ") + ", or declare it under identities"
}
