package advice

import (
	"slices"

	"routelimit/policy/identity"
)

// Limits that hold for some callers and not for others.

// unverifiedPlan: whoever may choose his plan takes the largest.
func unverifiedPlan(c *checker, r routeAt) {
	for _, l := range r.limits {
		if l.Plans != nil && (!l.Plans.By.Verified() || l.Plans.By.Kind() == "path") {
			c.warn("plan-unverified", l.at("limit"), `nobody verifies %s, so a caller has the plan that he writes there; have a filter before this one set it, `+
				`or take the plan from what one has verified, such as "metadata:…" of jwt_authn`, l.Plans.By)
		}
	}
}

// unverifiedCost: whoever may say what his request costs says 1, or, where others
// share the count, what uses it up.
func unverifiedCost(c *checker, r routeAt) {
	for _, l := range r.limits {
		if l.CostFrom.Kind() == "" || l.CostFrom.Verified() {
			continue
		}
		harm := "a caller who writes it himself pays what he likes"
		if !vouchedFor(l) || slices.ContainsFunc(l.identities(), func(i identity.Component) bool { return i.Name == everyone }) {
			harm += ", and one request may use up what others share with him"
		}
		c.warn("cost-unverified", l.at("cost"), `nobody verifies %s, so %s; have a filter before this one set it on every request, or write a number`, l.CostFrom, harm)
	}
}

// percentInVain: a percentage that divides nobody.
func percentInVain(c *checker, r routeAt) {
	for _, l := range r.limits {
		switch {
		case l.EnforcePercent == 100:
		case l.shadow:
			c.warn("percent-in-vain", l.at("enforce_percent"), `a shadow limit refuses nobody, at whatever percentage; remove "shadow", or the percentage`)
		case l.Identity.String() == everyone:
			c.warn("percent-in-vain", l.at("enforce_percent"), `%q is one identity, so the limit holds for everybody or for nobody; write "shadow": true, or another identity`, everyone)
		}
	}
}
