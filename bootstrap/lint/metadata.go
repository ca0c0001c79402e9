package lint

import (
	"slices"
	"strings"

	"routelimit/bootstrap/yamltree"
)

// checkMetadata: what a filter writes under its own name is there only after it has
// run. jwt_authn has a check of its own.
func (e *envoy) checkMetadata(p *plugin) {
	filters := p.manager.At("http_filters").Items()
	for _, namespace := range metadataNamespaces(p) {
		first := slices.IndexFunc(filters, func(f *yamltree.Node) bool { return f.At("name").Text() == namespace })
		if first > p.index {
			e.fail("metadata-too-late", filters[first], "%s stands after routelimit, which reads metadata:%s/…; move it before routelimit", namespace, namespace)
		}
	}
}

// metadataNamespaces are those of all identities and plans but jwt_authn's.
func metadataNamespaces(p *plugin) []string {
	var names []string
	for _, source := range sourcesOf(p) {
		rest, ok := strings.CutPrefix(source.String(), "metadata:")
		name, _, _ := strings.Cut(rest, "/")
		if ok && name != jwtNamespace && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
