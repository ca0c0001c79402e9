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
	last  string
	route *policy.Route
	known map[string]*policy.Route
}

// maxRoutes bounds the cache. Equal content has a few encodings, and updates
// bring new ones.
const maxRoutes = 16384

const routeMetadata = "xds\x00route_metadata"

// find returns the limits that the route of the current request declares.
func (c *routeCache) find(p *plugin) (route *policy.Route, ok bool) {
	raw, ok := shim.Property(routeMetadata)
	if !ok || len(raw) == 0 {
		return nil, false
	}
	if string(raw) != c.last {
		c.last, c.route = c.lookUp(p, raw)
	}
	return c.route, c.route != nil
}

func (c *routeCache) lookUp(p *plugin, raw []byte) (key string, route *policy.Route) {
	key = string(raw)
	if route, ok := c.known[key]; ok {
		return key, route
	}
	route, err := p.policy.FromRouteMetadata([]byte(key))
	if err != nil {
		p.metrics.badMetadata.Add(1)
		p.logs.badMetadata(err)
		route = nil
	}
	if c.known == nil || len(c.known) >= maxRoutes {
		c.known = map[string]*policy.Route{}
	}
	c.known[key] = route
	return key, route
}
