package main

import (
	"encoding/json"
	"fmt"
)

const (
	callerHeader = "x-user"
	measuredPath = "/measured"
	neverReached = 100_000_000
)

// limitsPolicy has a route with so many limits of one identity, which one call decides.
func limitsPolicy(n int) string {
	var limits []any
	for i := range n {
		limits = append(limits, limitOf("user", i+1))
	}
	return policyOf(map[string]any{"user": caller()}, map[string]any{"GET " + measuredPath: map[string]any{"on_error": "closed", "limits": limits}})
}

// keysPolicy has a route with so many limits, each of an identity of its own and so with a call of its own.
func keysPolicy(n int) string {
	identities := map[string]any{}
	var limits []any
	for i := range n {
		name := fmt.Sprintf("user%d", i)
		identities[name] = caller()
		limits = append(limits, limitOf(name, 1))
	}
	return policyOf(identities, map[string]any{"GET " + measuredPath: map[string]any{"on_error": "closed", "limits": limits}})
}

// routesPolicy has so many routes with a parameter each.
func routesPolicy(n int) string {
	routes := map[string]any{}
	for i := range n {
		routes[fmt.Sprintf("GET /v7/service%d/items/:id", i)] = map[string]any{"on_error": "closed", "limits": []any{limitOf("user", 1)}}
	}
	return policyOf(map[string]any{"user": caller()}, routes)
}

func routePath(i int) string { return fmt.Sprintf("/v7/service%d/items/4711", i) }

func caller() map[string]any { return map[string]any{"from": "header:" + callerHeader} }

func limitOf(identity string, minutes int) map[string]any {
	return map[string]any{"name": fmt.Sprintf("%s%d", identity, minutes), "identity": identity, "limit": neverReached, "window": fmt.Sprintf("%dm", minutes)}
}

// policyOf lets a machine that stalls show in latencies and not in failures.
func policyOf(identities, routes map[string]any) string {
	raw, err := json.Marshal(map[string]any{
		"redis": map[string]any{"timeout": "2s"}, "deny_cache": map[string]any{"max_time": "0s"},
		"identities": identities, "routes": routes, "default": nil,
	})
	if err != nil {
		panic(err) // maps, strings and numbers can always be written
	}
	return string(raw)
}
