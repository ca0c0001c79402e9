package lint

import "routelimit/bootstrap/yamltree"

// checkDuration: nothing may end the stream after a time, however busy it is. A
// route's max_stream_duration wins over its manager's.
func (e *envoy) checkDuration(g *plugin) {
	var bounds []*yamltree.Node
	switch {
	case g.cluster != nil:
		bounds = append(bounds, httpOptions(g.cluster).At("common_http_protocol_options", "max_stream_duration"))
	case g.manager != nil:
		all := g.manager.At("common_http_protocol_options", "max_stream_duration")
		routes := routesOf(g.manager.Node)
		if len(routes) == 0 {
			bounds = append(bounds, all)
		}
		for _, r := range routes {
			own := r.At("route", "max_stream_duration", "max_stream_duration")
			if own == nil {
				own = all
			}
			bounds = append(bounds, own)
		}
	}
	for _, n := range bounds {
		if n != nil && !isZero(n) {
			e.fail("gateway-duration", n, "the stream to Redis ends after %s, and whoever waits on it then goes by on_error; remove max_stream_duration for the gateway, or write 0s", n.Text())
			return
		}
	}
}
