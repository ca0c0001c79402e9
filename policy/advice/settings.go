package advice

import "routelimit/policy"

// openDefault: what nobody lists is unlimited.
func openDefault(c *checker) {
	n := c.root.Member("default")
	if n != nil && c.policy.Default == nil && !refusesUndeclared(c) {
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
	n := c.root.Member("undeclared")
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
	c.warn("hash-key-unused", n, `no identity is secret, so nothing is hashed under it; write "secret": true where a value must not be seen, or remove it`)
}

func unusedBody(c *checker) {
	n := c.root.Member("body")
	if n == nil {
		return
	}
	for _, r := range c.routes {
		if r.NeedsBody {
			return
		}
	}
	for _, r := range c.declared {
		if r.NeedsBody {
			return
		}
	}
	c.warn("body-unused", n, `no limit's identity is in a body, so none is read; remove it, or use an identity of "body:…"`)
}
