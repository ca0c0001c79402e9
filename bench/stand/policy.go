package stand

import (
	"encoding/json"
	"fmt"
)

// What policies here limit by, and a limit that no load reaches.
const (
	CallerHeader = "x-user"
	NeverReached = 100_000_000
)

// RoutesPolicy has so many routes with a parameter each, and one limit on each.
func RoutesPolicy(n int, limit map[string]any) string {
	routes := map[string]any{}
	for i := range n {
		routes[fmt.Sprintf("GET /v7/service%d/items/:id", i)] = map[string]any{"on_error": "closed", "limits": []any{limit}}
	}
	return Policy(map[string]any{"user": Caller()}, routes)
}

// RoutePath is a path of the route of that number, from 0 on.
func RoutePath(i int) string { return fmt.Sprintf("/v7/service%d/items/4711", i) }

// Caller is an identity that comes from the header.
func Caller() map[string]any { return map[string]any{"from": "header:" + CallerHeader} }

// LimitOf is one limit, with a window of so many minutes.
func LimitOf(identity string, limit, minutes int) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("%s%d", identity, minutes), "identity": identity, "limit": limit, "window": fmt.Sprintf("%dm", minutes),
	}
}

// Policy asks about each request, and lets a machine that stalls show in latencies and not in failures.
func Policy(identities, routes map[string]any) string {
	raw, err := json.Marshal(map[string]any{
		"redis": map[string]any{"timeout": "2s"}, "deny_cache": map[string]any{"max_time": "0s"},
		"identities": identities, "routes": routes, "default": nil,
	})
	if err != nil {
		panic(err) // maps, strings and numbers can always be written
	}
	return string(raw)
}

// ProxyTimeout is redis_proxy's, below that of Policy.
const ProxyTimeout = "1.9s"
