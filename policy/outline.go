package policy

import (
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

// Outline returns what Parse takes: the fields of a configuration, found out by
// letting their readers ask for them.
func Outline() *strictjson.Shape {
	return strictjson.Outline(func(d *strictjson.Document) {
		d.Root().IsNull() // as no configuration at all
		outlining(d).read(d.Root(), func(string) (string, bool) { return "", false })
	})
}

// OutlineMetadata returns what FromRouteMetadata takes: the fields of a route
// that Envoy's own route carries.
func OutlineMetadata() *strictjson.Shape {
	return strictjson.Outline(func(d *strictjson.Document) { outlining(d).readMetadataRoute(d.Root()) })
}

func outlining(d *strictjson.Document) *reader {
	return &reader{policy: newPolicy(), document: d, expressions: map[string]*identity.Expr{}}
}
