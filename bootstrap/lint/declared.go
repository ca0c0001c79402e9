package lint

import (
	"encoding/json"
	"errors"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
	"routelimit/policy/advice"
)

// readDeclared reads what Envoy's own routes carry in their metadata.
func (e *envoy) readDeclared(p *plugin) {
	if p.manager == nil {
		return
	}
	for _, r := range routesOf(p.manager.Node) {
		n := declaration(r)
		if n == nil {
			continue
		}
		text, err := json.Marshal(n.Value())
		if err != nil { // .inf or .nan, which JSON does not have
			e.fail("invalid", n, "metadata.routelimit: %v; write a number", err)
			continue
		}
		declared, err := p.policy.ParseMetadata(text)
		var problems policy.Errors
		if errors.As(err, &problems) {
			for _, problem := range problems {
				e.add(Finding{Rule: "invalid", Error: true, Path: problem.Path, Text: problem.Message}, n)
			}
			continue
		}
		p.declared = append(p.declared, declared)
		for _, f := range advice.CheckRoute(p.policy, declared) {
			f.Path = "metadata.routelimit"
			e.add(f, n)
		}
	}
}

// declaration is what a route of Envoy's carries for us, or nil.
func declaration(r *yamltree.Node) *yamltree.Node {
	return r.At("metadata", "filter_metadata", "routelimit")
}

// checkDeclared looks for requests that reach the upstream and that only the
// default covers.
func (e *envoy) checkDeclared(p *plugin) {
	if !e.options.RequireDeclared || p.policy.Mode == policy.Off {
		return
	}
	if p.manager.At("rds") != nil || p.manager.At("scoped_routes") != nil {
		e.fail("undeclared", p.manager.Node, "its routes come from elsewhere and cannot be checked here; write them into route_config, or check a configuration dump")
	}
	for _, host := range p.manager.At("route_config", "virtual_hosts").Items() {
		for _, r := range host.At("routes").Items() {
			if r.At("route") != nil && declaration(r) == nil {
				e.checkRoute(p, host, r)
			}
		}
	}
}

// checkRoute asks the policy about requests that stand for all that a route of
// Envoy's takes.
func (e *envoy) checkRoute(p *plugin, host, r *yamltree.Node) {
	match := r.At("match")
	if match == nil {
		match = r // Envoy will refuse it
	}
	paths, ok := samplePaths(match)
	if !ok {
		e.fail("undeclared", match, "what this route takes cannot be told from its match; give it a path or a prefix, or its limits as metadata")
		return
	}
	methods := sampleMethods(match, p.policy)
	for _, domain := range host.At("domains").Items() {
		for _, path := range paths {
			if !covers(p.policy, methods, sampleHost(domain.Text()), path) {
				e.fail("undeclared", match, `only the default covers %s of this route, such as %q; write it under "routes", or give this route its limits as metadata`,
					describe(methods), path)
				return
			}
		}
	}
}

// covers reports whether some route of the policy takes a path with one of the
// methods.
func covers(p *policy.Policy, methods []string, host, path string) bool {
	var matched policy.Matched
	for _, method := range methods {
		if r := p.Match(method, host, path, &matched); r != nil && r != p.Default {
			return true
		}
	}
	return false
}

func describe(methods []string) string {
	if len(methods) == 1 {
		return methods[0] + " requests"
	}
	return "requests"
}
