package explain

import (
	"slices"
	"strings"

	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/route"
)

// hidden stands in for what nobody may see.
const hidden = "***"

// wholePath are sources that hold the path itself.
var wholePath = []string{"header::path", "property:request.path", "property:request.url_path"}

// showPaths returns the raw path without its query, and the normalised one,
// with secret parameters hidden in both. A query may hold any secret.
func showPaths(p *policy.Policy, raw string, matching []policy.Candidate) (sent, normal string) {
	sent, _, _ = strings.Cut(raw, "?")
	sent, _, _ = strings.Cut(sent, "#")
	normal = string(p.Paths.Normalize(nil, raw))
	var secrets []string
	for _, c := range matching {
		for _, component := range secretComponents(c.Route) {
			if slices.Contains(wholePath, component.Source.String()) {
				return hidden, hidden
			}
			secrets = append(secrets, valuesOf(component, c.Params)...)
		}
	}
	if len(secrets) == 0 {
		return sent, normal
	}
	// The raw path may spell a secret in many ways, the normal one in one.
	return hidden, hide(normal, secrets)
}

// secretComponents are those of a route's limits and exemptions.
func secretComponents(r *policy.Route) []identity.Component {
	return slices.DeleteFunc(r.Components(), func(c identity.Component) bool { return !c.Secret })
}

// valuesOf are the parameters that a component takes.
func valuesOf(c identity.Component, params []route.Param) []string {
	var values []string
	for _, param := range params {
		if c.Source.Kind() == "path" && c.Source.Argument() == param.Name {
			values = append(values, param.Value)
		}
	}
	return values
}

// hide replaces a secret rest of the path, and secret segments.
func hide(path string, secrets []string) string {
	for _, secret := range secrets {
		if before, ok := strings.CutSuffix(path, "/"+secret); ok {
			path = before + "/" + hidden
		}
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if slices.Contains(secrets, segment) {
			segments[i] = hidden
		}
	}
	return strings.Join(segments, "/")
}
