// Package render makes of a policy and the address of a Redis what each platform wants to read: a whole Envoy bootstrap,
// or the resources of a mesh or gateway. Everything is built from the platforms' own types, so that what cannot be
// written there is not written here.
//
//	b, err := render.Bootstrap(render.Setup{Policy: text, Redis: render.Redis{Nodes: []string{"10.0.0.7:6379"}}})
//	file, err := render.YAML(b)
//
// It asks nobody: no Redis, no Envoy and no file is looked at.
package render
