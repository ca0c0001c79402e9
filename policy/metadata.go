package policy

import (
	"strings"

	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// metadataNamespace is where Envoy's own route carries a route of ours.
const metadataNamespace = "routelimit"

// FromRouteMetadata returns the route that Envoy's own route carries: the
// fields of a route, and its template as "route", in the namespace "routelimit"
// of a serialised envoy.config.core.v3.Metadata. Without that namespace it
// returns nil. The error is an [Errors]; its paths start with
// metadata.routelimit, and it has no lines and columns.
func (p *Policy) FromRouteMetadata(metadata []byte) (*Route, error) {
	if p.Mode == Off {
		return nil, nil
	}
	fields, ok, err := findNamespace(metadata, metadataNamespace)
	if err == nil && !ok {
		return nil, nil
	}
	var text []byte
	if err == nil {
		text, err = appendStruct(nil, fields, 0)
	}
	if err != nil {
		return nil, Errors{{Path: "metadata", Message: err.Error()}}
	}
	return p.ParseMetadata(text)
}

// ParseMetadata reads what stands in the namespace, in JSON and whatever the
// mode. The error is that of FromRouteMetadata.
func (p *Policy) ParseMetadata(text []byte) (*Route, error) {
	document := strictjson.Parse(text)
	r := &reader{policy: p, document: document, expressions: map[string]*identity.Expr{}}
	var found *Route
	if root := document.Root(); root != nil {
		found = r.readMetadataRoute(root)
	}
	if problems := document.Problems(); len(problems) > 0 {
		return nil, inMetadata(problems)
	}
	return found, nil
}

func (r *reader) readMetadataRoute(n *strictjson.Node) *Route {
	d := r.readRoute(n, metadataFields)
	if d.template == nil {
		return nil
	}
	d.template.StatePattern(prose(routePattern))
	text, ok := d.template.Text()
	if !ok {
		return nil
	}
	pattern, err := r.policy.Paths.ParsePattern(text)
	if err != nil {
		d.template.Fail("%v", err)
		return nil
	}
	d.route.finish(r.policy, text, pattern.Key())

	// Envoy has chosen the route; the template only has to name parameters.
	pattern.Method, pattern.Host = "*", ""
	if err := d.route.own.Add(pattern, 0); err != nil {
		d.template.Fail("%v", err)
	}
	return d.route
}

// inMetadata tells where the fields stand, and takes away the places in a text
// that nobody wrote.
func inMetadata(problems []strictjson.Problem) Errors {
	for i := range problems {
		p := &problems[i]
		p.Line, p.Column, p.EarlierLine, p.EarlierColumn = 0, 0, 0, 0
		if p.Path != "" && !strings.HasPrefix(p.Path, "[") {
			p.Path = "." + p.Path
		}
		p.Path = "metadata." + metadataNamespace + p.Path
	}
	return problems
}
