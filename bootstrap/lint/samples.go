package lint

import (
	"slices"
	"strings"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy"
)

// some is a segment, and a host's first label, that nobody has written.
const some = "any-7f3a9c"

// samplePaths are paths that stand for all that a route of Envoy's takes
// (envoy.config.route.v3.RouteMatch); false if that cannot be told.
func samplePaths(match *yamltree.Node) ([]string, bool) {
	if path := match.At("path").Text(); path != "" {
		return []string{path}, true
	}
	if prefix := match.At("prefix").Text(); prefix != "" {
		return []string{prefix, prefix + some, prefix + some + "/" + some}, true
	}
	if prefix := match.At("path_separated_prefix").Text(); prefix != "" {
		return []string{prefix, prefix + "/" + some, prefix + "/" + some + "/" + some}, true
	}
	if template := match.At("path_match_policy", "typed_config", "path_template").Text(); template != "" {
		return sampleTemplate(template), true
	}
	return nil, false
}

// sampleTemplate fills the variables of a URI template in: "*" is one segment,
// "**" the rest.
func sampleTemplate(template string) []string {
	var short, long []string
	for segment := range strings.SplitSeq(unnamed(template), "/") {
		switch segment {
		case "**":
			short, long = append(short, some), append(long, some, some)
		case "*":
			short, long = append(short, some), append(long, some)
		default:
			short, long = append(short, segment), append(long, segment)
		}
	}
	return slices.Compact([]string{strings.Join(short, "/"), strings.Join(long, "/")})
}

// unnamed takes the names off a template's variables: "{name}" is "*",
// "{name=a/*}" is "a/*".
func unnamed(template string) string {
	before, rest, ok := strings.Cut(template, "{")
	if !ok {
		return template
	}
	variable, after, _ := strings.Cut(rest, "}")
	_, pattern, named := strings.Cut(variable, "=")
	if !named {
		pattern = "*"
	}
	return before + pattern + unnamed(after)
}

// sampleMethods are the method that a route asks for, or all that there may be.
func sampleMethods(match *yamltree.Node, p *policy.Policy) []string {
	for _, header := range match.At("headers").Items() {
		exact := header.At("string_match", "exact").Text() + header.At("exact_match").Text()
		if header.At("name").Text() == ":method" && exact != "" && !header.At("invert_match").True() {
			return []string{exact}
		}
	}
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	for _, r := range p.Routes {
		if method, _, _ := strings.Cut(r.Template, " "); method != "*" && !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	return methods
}

// sampleHost is a host of a virtual host's domain.
func sampleHost(domain string) string {
	host, _, _ := strings.Cut(domain, ":")
	return strings.Replace(host, "*", some, 1)
}
