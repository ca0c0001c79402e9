//go:build wasip1

package main

import (
	"routelimit/policy"
	"routelimit/shim"
)

// routeCache keeps what was read from the metadata of Envoy's own routes, by the
// metadata's bytes: a route may keep its name and change its content, without
// any other sign.
type routeCache struct {
	last     string
	declared declared
	known    map[string]declared
	// neverUnasked: one of them lets nothing pass that was not decided about.
	neverUnasked bool
}

// declared is what one route's metadata says.
type declared struct {
	route *policy.Route // nil: nothing that can be read
	bad   bool          // something that cannot be read
}

// maxRoutes bounds the cache. Equal content has a few encodings, and updates
// bring new ones.
const maxRoutes = 16384

const routeMetadata = "xds\x00route_metadata"

// find returns what the route of the current request declares.
func (c *routeCache) find(p *plugin) declared {
	raw, ok := shim.Property(routeMetadata)
	if !ok || len(raw) == 0 {
		return declared{}
	}
	if string(raw) != c.last {
		c.last, c.declared = c.lookUp(p, raw)
	}
	return c.declared
}

func (c *routeCache) lookUp(p *plugin, raw []byte) (key string, found declared) {
	key = string(raw)
	if found, ok := c.known[key]; ok {
		return key, found
	}
	route, err := p.policy.FromRouteMetadata([]byte(key))
	found.route = route
	if err != nil {
		p.metrics.badMetadata.Add(1)
		p.logs.badMetadata(err)
		found = declared{bad: true}
	}
	c.neverUnasked = c.neverUnasked || route != nil && route.NeverUnasked
	if c.known == nil || len(c.known) >= maxRoutes {
		c.known = map[string]declared{}
	}
	c.known[key] = found
	return key, found
}
