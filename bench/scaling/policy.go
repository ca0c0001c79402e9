package main

import (
	"fmt"

	"routelimit/bench/stand"
)

const measuredPath = "/measured"

// limitsPolicy has a route with so many limits of one identity, which one call decides.
func limitsPolicy(n int) string {
	var limits []any
	for i := range n {
		limits = append(limits, stand.LimitOf("user", stand.NeverReached, i+1))
	}
	return policyOf(map[string]any{"user": stand.Caller()}, limits)
}

// keysPolicy has a route with so many limits, each of an identity of its own and so with a call of its own.
func keysPolicy(n int) string {
	identities := map[string]any{}
	var limits []any
	for i := range n {
		name := fmt.Sprintf("user%d", i)
		identities[name] = stand.Caller()
		limits = append(limits, stand.LimitOf(name, stand.NeverReached, 1))
	}
	return policyOf(identities, limits)
}

func policyOf(identities map[string]any, limits []any) string {
	return stand.Policy(identities, map[string]any{"GET " + measuredPath: map[string]any{"on_error": "closed", "limits": limits}})
}

func routesPolicy(n int) string {
	return stand.RoutesPolicy(n, stand.LimitOf("user", stand.NeverReached, 1))
}
