package identity

import "strings"

// Kind returns the word before the colon: "header". It is "" for a built-in
// component.
func (s Source) Kind() string {
	kind, _, _ := strings.Cut(s.text, ":")
	return kind
}

// Argument returns what follows the colon: "x-api-key".
func (s Source) Argument() string {
	_, argument, _ := strings.Cut(s.text, ":")
	return argument
}

// Property returns the Envoy attribute that the value is, as [Attributes] is
// asked for it; false if it is none.
func (s Source) Property() (path string, ok bool) {
	property, ok := s.reader.(*propertySource)
	if !ok {
		return "", false
	}
	return property.path, true
}

// Verified reports whether somebody other than the caller vouches for the
// value: Envoy itself, or a filter before this one. A parameter of the path is
// what the caller wants, not who it is, so nobody has to vouch for it.
func (s Source) Verified() bool {
	switch s.Kind() {
	case "header", "cookie", "query", "body", "jwt_unverified":
		return false
	case "property":
		root, _, _ := strings.Cut(s.Argument(), ".")
		return root != "request" // what the caller has sent
	}
	return true
}

// Alternatives lists the alternatives, each as the components that it needs all
// of. Built-in components have no source.
func (e *Expr) Alternatives() [][]Component {
	all := make([][]Component, len(e.alternatives))
	for i, a := range e.alternatives {
		for _, p := range a.parts {
			component := Component{Name: p.name}
			if p.declared != nil {
				component = *p.declared
			}
			all[i] = append(all[i], component)
		}
	}
	return all
}
