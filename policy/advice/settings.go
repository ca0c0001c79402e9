package advice

import (
	"slices"
	"time"

	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// nothingLimited: neither routes nor a default, nor any that Envoy's routes carry.
func nothingLimited(c *checker) {
	if child(c.root, "routes") == nil && child(c.root, "default") == nil && !refusesUndeclared(c) && len(c.declared) == 0 && c.policy.Mode != policy.Off {
		c.warn("nothing-limited", c.root, `no route and no default is written, so nothing is limited but what Envoy's own routes carry; write "routes" and a "default"`)
	}
}

// everybodyRefused: a 404 for whatever no route covers, and there are no routes.
func everybodyRefused(c *checker) {
	if refusesUndeclared(c) && len(c.policy.Routes) == 0 && len(c.declared) == 0 {
		c.warn("everybody-refused", c.root.Member("undeclared"), `no route is written, so every request is answered 404 whose route in Envoy carries no limits of its own; write "routes", or a "default" in its place`)
	}
}

// zeroDefault: all that nobody lists is refused, which "undeclared" says better.
func zeroDefault(c *checker) {
	if c.policy.Default == nil || refusesUndeclared(c) {
		return
	}
	for _, l := range c.routes[len(c.routes)-1].enforced() {
		if l.quota() == 0 && l.Plans == nil && l.EnforcePercent == 100 {
			c.warn("default-refuses-all", l.at("limit"), `a limit of 0 refuses every request that no route lists; write how many shall pass, or "undeclared": "refuse" for a 404`)
		}
	}
}

// openDefault: what nobody lists is unlimited.
func openDefault(c *checker) {
	n := c.root.Member("default")
	open := c.policy.Default == nil || len(c.policy.Default.Limits) == 0
	if n != nil && open && !refusesUndeclared(c) {
		c.warn("default-null", n, `every request that no route lists is unlimited, new endpoints too; write a limit, or "undeclared": "refuse"`)
	}
}

// hiddenDefault: nothing is left for it.
func hiddenDefault(c *checker) {
	if c.policy.Default != nil && refusesUndeclared(c) {
		c.warn("default-unused", c.root.Member("default"), `"undeclared": "refuse" answers 404 to all that it would hold for; remove one of the two`)
	}
}

// refusesUndeclared is what the configuration says, whatever the mode.
func refusesUndeclared(c *checker) bool {
	n := child(c.root, "undeclared")
	return n != nil && n.Show() == `"refuse"`
}

func switchedOff(c *checker) {
	if c.policy.Mode == policy.Off {
		c.warn("mode-off", c.root.Member("mode"), `nothing is limited; write "enforce", or "shadow" to count without refusing`)
	}
}

// withoutLimits: settings that only matter where there are limits.
func withoutLimits(c *checker, r routeAt) {
	if len(r.limits) > 0 {
		return
	}
	for _, name := range []string{"on_error", "exempt", "per"} {
		if n := child(r.node, name); n != nil {
			c.warn("unlimited-route", n, "the route has no limits, so it has no effect; remove it, or write the limits")
		}
	}
}

// closedShadow: a route that nothing may refuse is not closed either, nor does it
// decide locally.
func closedShadow(c *checker, r routeAt) {
	refuses := func(l limitAt) bool { return !l.shadow && l.EnforcePercent > 0 }
	if len(r.limits) > 0 && !slices.ContainsFunc(r.limits, refuses) && r.OnError != policy.Open {
		c.warn("closed-shadow", child(r.node, "on_error"), `no limit of the route refuses anybody, also while Redis does not answer; remove it, or enforce a limit`)
	}
}

// leastTimeout is below what an answer takes on a proxy that has something to do.
const leastTimeout = 10 * time.Millisecond

func shortTimeout(c *checker) {
	if n := child(c.root.Member("redis"), "timeout"); n != nil && c.policy.Redis.Timeout < leastTimeout {
		c.warn("redis-timeout-short", n, `many answers take longer on a busy proxy, and each request that waits longer goes by on_error; write %s or more`, strictjson.FormatDuration(leastTimeout))
	}
}

func unusedHashKey(c *checker) {
	n := c.root.Member("hash_key_env")
	if n == nil {
		return
	}
	for _, declared := range members(c.root.Member("identities")) {
		if secret := declared.Member("secret"); secret != nil && secret.Show() == "true" {
			return
		}
	}
	for _, r := range c.allRoutes() {
		if !r.ExemptCallers.Empty() {
			return
		}
	}
	c.warn("hash-key-unused", n, `no identity is secret, so nothing is hashed under it; write "secret": true where a value must not be seen, or remove it`)
}

func unusedBody(c *checker) {
	n := c.root.Member("body")
	if n == nil {
		return
	}
	for _, r := range c.allRoutes() {
		if r.NeedsBody {
			return
		}
	}
	c.warn("body-unused", n, `no limit's identity is in a body, so none is read; remove it, or use an identity of "body:…"`)
}

func unusedLocal(c *checker) {
	n := c.root.Member("local")
	if n == nil {
		return
	}
	for _, r := range c.routes {
		if r.OnError == policy.Local {
			return
		}
	}
	for _, r := range c.declared {
		if r.OnError == policy.Local {
			return
		}
	}
	c.warn("local-unused", n, `no route decides locally while Redis does not answer; write "on_error": "local" where one shall, or remove it`)
}

// unusedDenyCache: nothing is remembered of callers who may pass at any moment.
func unusedDenyCache(c *checker) {
	n, all := c.root.Member("deny_cache"), c.allRoutes()
	if n == nil || len(all) == 0 {
		return
	}
	for _, r := range all {
		if r.Lasting && len(r.Limits) > 0 || !r.OneKey {
			return
		}
	}
	c.warn("deny-cache-unused", n, `no refusal is repeated without asking, since every route has a "count", a "bucket" or a cost from a header; remove it`)
}
