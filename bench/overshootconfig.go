package main

import (
	"slices"

	"routelimit/bootstrap"
	"routelimit/limit"
)

// overshootService is the form of envoyproxy/ratelimit that takes part.
const overshootService = "ratelimit-window"

func overshootServiceSettings() []string {
	return slices.Concat(serviceSettings(), find(overshootService).service)
}

// overshootKeys are the headers that name the caller, and under what keys envoyproxy/ratelimit knows them: one for each
// window.
func overshootKeys() map[string]string {
	return map[string]string{"x-minute": "minute", "x-second": "second"}
}

// overshootColumns are configured like those that are measured for speed, with other limits.
func overshootColumns(withService bool) []*column {
	columns := []*column{{key: keyProxied, title: title(keyProxied), configure: func(c *bootstrap.Config, b backends) error {
		return configureProxied(func(bool) string { return overshootPolicy() })(c, b)
	}}}
	if withService {
		columns = append(columns, &column{key: overshootService, title: title("ratelimit"), configure: func(c *bootstrap.Config, b backends) error {
			return configureServiceFor(c, b, overshootKeys())
		}})
	}
	return columns
}

// contendersOf are a column's algorithms: envoyproxy/ratelimit has fixed windows alone.
func contendersOf(c *column, urls []string) []*contender {
	if isService(c.key) {
		return []*contender{{title: c.title + ", its fixed window", algorithm: limit.FixedWindow, urls: urls}}
	}
	var list []*contender
	for i, name := range limit.AlgorithmNames() {
		list = append(list, &contender{title: c.title + ", " + name, algorithm: limit.Algorithm(i), urls: urls})
	}
	return list
}

// overshootPolicy has a route for each algorithm and window, such as /fixed_window/second.
func overshootPolicy() string {
	identities, routes := map[string]any{}, map[string]any{}
	for header, unit := range overshootKeys() {
		identities[unit] = map[string]any{"from": "header:" + header}
		for _, algorithm := range limit.AlgorithmNames() {
			routes["GET /"+algorithm+"/"+unit] = map[string]any{
				"on_error": "closed", "identity": unit, "limit": overshootLimit, "window": map[string]string{"minute": "1m", "second": "1s"}[unit],
				"algorithm": algorithm,
			}
		}
	}
	return asJSON(map[string]any{
		"redis": map[string]any{"timeout": decisionTimeout}, "identities": identities, "routes": routes, "default": nil,
	})
}

// overshootServiceLimits is the same for envoyproxy/ratelimit, which knows the caller by the header alone.
func overshootServiceLimits() string {
	var descriptors []any
	for _, unit := range []string{"minute", "second"} {
		descriptors = append(descriptors, map[string]any{
			"key": unit, "rate_limit": map[string]any{"unit": unit, "requests_per_unit": overshootLimit},
		})
	}
	return asJSON(map[string]any{"domain": serviceDomain, "descriptors": descriptors})
}
