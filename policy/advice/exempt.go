package advice

import (
	"strings"

	"routelimit/policy/identity"
)

// exemptEverybody: a network that holds every address.
func exemptEverybody(c *checker, r routeAt) {
	for _, network := range r.Exempt {
		if network.Bits() == 0 {
			c.fail("exempt-everybody", child(r.node, "exempt"), `%s is every address, so no such caller is ever limited; write the networks that you mean, or "limits": [] for a route without limits`, network)
		}
	}
}

// exemptUnverified: whoever sends the value is exempt. One that is secret has to
// be known first.
func exemptUnverified(c *checker, r routeAt) {
	for _, component := range r.ExemptCallers.Components() {
		if vouched(component) || component.Secret && isCredential(component) {
			continue
		}
		c.warn("exempt-unverified", child(r.node, "exempt"), `nobody verifies %q (%s), so whoever sends that value is exempt; exempt an identity that is verified, such as "metadata:…" of jwt_authn, or a secret one that nobody can guess`,
			component.Name, component.Source)
	}
}

// isCredential tells a value that proves itself by being known from a claim that
// anybody can write down.
func isCredential(c identity.Component) bool {
	return strings.Contains("header cookie query", c.Source.Kind())
}
