// Package advice finds what a valid configuration probably does not mean:
// limits that callers can go around, that can never refuse or never pass, and
// settings that have no effect together. It is no part of the module.
package advice

import (
	"cmp"
	"slices"

	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// Finding is one thing to look at.
type Finding struct {
	Rule string // "sliding-log-large"
	// Error: the configuration cannot do what it says. Otherwise it can, and
	// probably should not.
	Error bool
	Path  string // of the value: routes["POST /login"].limits[1].cost
	// Line and Column count from 1. They are 0 in a route that came from
	// Envoy's metadata.
	Line, Column int
	Text         string // lower case, ends with what to do
}

// Check returns what is to be said about a policy, in the order of the text
// that it was read from. declared are the routes that Envoy's own routes carry,
// as far as they are known; what they say is no part of the result, see
// [CheckRoute].
func Check(p *policy.Policy, raw []byte, declared []*policy.Route) []Finding {
	c := &checker{policy: p, root: strictjson.Parse(raw).Root(), declared: declared}
	if c.root == nil || c.root.Kind() != strictjson.Object {
		nothingLimited(c) // no configuration at all
		return c.found
	}
	c.routes = c.placeRoutes()
	for _, r := range c.routes {
		c.checkRoute(r)
	}
	for _, rule := range policyRules {
		rule(c)
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c.found
}

// CheckRoute returns what is to be said about a route by itself, one that
// Envoy's own route carries.
func CheckRoute(p *policy.Policy, r *policy.Route) []Finding {
	c := &checker{policy: p}
	c.checkRoute(c.placeRoute(r, nil))
	return c.found
}

// Rules of one route, and of the policy as a whole.
var (
	routeRules = []func(*checker, routeAt){
		pairOnly, unverified, addressFirst, parameterMissing, bodyWithoutBody,
		unverifiedPlan, unverifiedCost, percentInVain,
		costAboveLimit, differingCosts, cancelledCount, neverRefuses, afterBlock, largeLog, withoutLimits,
		exemptEverybody, exemptUnverified, closedShadow,
	}
	policyRules = []func(*checker){
		nothingLimited, everybodyRefused, zeroDefault, differingBuckets, unusedIdentities, openDefault, hiddenDefault, switchedOff,
		unusedHashKey, unusedBody, unusedLocal, unusedDenyCache, shortTimeout,
	}
)

func (c *checker) checkRoute(r routeAt) {
	for _, rule := range routeRules {
		rule(c, r)
	}
}
