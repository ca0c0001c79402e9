package lint

import (
	"slices"
	"strings"

	"routelimit/policy/identity"
)

// jwtNamespace is where jwt_authn puts what it has verified.
const jwtNamespace = "envoy.filters.http.jwt_authn"

// checkClaims: what jwt_authn verifies is there only after it has run.
func (e *envoy) checkClaims(p *plugin) {
	payloads := claimPayloads(p)
	if len(payloads) == 0 {
		return
	}
	filters := p.manager.At("http_filters").Items()
	written := []string{} // by providers before this plugin
	seen := false
	for i, filter := range filters {
		config := filter.At("typed_config")
		if !isType(config, jwtType) {
			continue
		}
		if seen = true; i > p.index {
			e.fail("claims-too-late", filter, "jwt_authn stands after routelimit, which reads what it verifies; move it before routelimit")
			return
		}
		for _, provider := range config.At("providers").Fields() {
			written = append(written, provider.Value.At("payload_in_metadata").Text())
		}
	}
	if !seen {
		e.warn("claims-missing", p.config, "identities or plans come from what jwt_authn verifies, and there is no jwt_authn before routelimit; add it, or take them from elsewhere")
		return
	}
	for _, payload := range payloads {
		if !slices.Contains(written, payload) {
			e.fail("claims-missing", p.config, "an identity or a plan is metadata:%s/%s/…, and no provider of jwt_authn has payload_in_metadata: %s; write it there", jwtNamespace, payload, payload)
		}
	}
}

// claimPayloads are the keys under which limits expect verified tokens.
func claimPayloads(p *plugin) []string {
	var keys []string
	for _, s := range sourcesOf(p) {
		rest, ok := strings.CutPrefix(s.String(), "metadata:"+jwtNamespace+"/")
		key, _, _ := strings.Cut(rest, "/")
		if ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// sourcesOf are those of all identities and plans.
func sourcesOf(p *plugin) []identity.Source {
	var all []identity.Source
	for _, r := range allRoutes(p) {
		for _, component := range r.Components() {
			all = append(all, component.Source)
		}
		for _, l := range r.Limits {
			if l.Plans != nil {
				all = append(all, l.Plans.By)
			}
		}
	}
	return all
}
