// Package schema writes the JSON Schema of a configuration (draft 07) from the
// tables by which package policy reads it. It is no part of the module.
package schema

import (
	"bytes"
	"encoding/json"

	"routelimit/policy"
)

// ID names the schema. The number grows when a configuration that was valid no
// longer is.
const ID = "urn:routelimit:policy:v1"

// Document returns the schema, indented, with a line end.
func Document() []byte {
	root := policy.Outline()
	route := root.Field("routes").Member
	limit := route.Field("limits").Element
	w := &writer{}
	w.define("limit", limit, limitRules())
	w.define("route", route, routeRules(limit))
	w.define("envoy_route_metadata", policy.OutlineMetadata(), routeRules(limit))

	whole := object{
		{"$schema", "http://json-schema.org/draft-07/schema#"},
		{"$id", ID},
		{"title", "routelimit policy"},
		{"description", "The plugin configuration of routelimit. " +
			"What Envoy's own routes carry in the metadata namespace routelimit is under definitions/envoy_route_metadata."},
	}
	body := w.value(root)
	w.amend(body, "default", routeRules(limit))
	w.amend(body, "response", responseRules())
	w.amend(body, "redis", redisRules())
	whole = append(append(whole, body...), rootRules()...)
	whole = append(whole, member{"definitions", w.definitions()})
	return indented(whole)
}

func indented(o object) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(o); err != nil {
		panic(err) // an example or a default that is no JSON: the tests read all of them
	}
	return out.Bytes()
}
