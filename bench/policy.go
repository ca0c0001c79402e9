package main

import "encoding/json"

// What every column is asked. All limiters limit by this header; on the measured path, or for the measured callers, the
// limit is never reached, but where refusals are measured. envoyproxy/ratelimit tells the two apart by the caller and
// routelimit by the path.
const (
	callerHeader = "x-user"
	measuredPath = "/measured"
	probePath    = "/probe"
	probeCaller  = "probe"

	neverReached = 100_000_000 // a minute
	probeLimit   = 2           // an hour
	callers      = 100_000     // where there are many
)

// All limiters may take a second for a decision: a machine that stalls then shows in the latencies of all of them, and not
// in refusals of the one with the shortest patience. redis_proxy has to give up first (see envoy.yaml).
const (
	decisionTimeout = "1s"
	proxyTimeout    = "0.9s"
	bridgeTimeout   = "900ms"
)

func idlePolicy(bool) string { return "{}" }

// askingPolicy asks about every request, refused ones too.
func askingPolicy(headers bool) string {
	return policyOf(headers, "0s", map[string]any{"limit": neverReached, "window": "1m"})
}

func leasePolicy(headers bool) string {
	return policyOf(headers, "0s", map[string]any{"limit": neverReached, "window": "1m", "lease": "auto"})
}

// denyPolicy refuses the measured caller's second request, for a day, so that the load sees refusals alone.
func denyPolicy(headers bool) string {
	return policyOf(headers, "30s", map[string]any{"limit": 1, "window": "24h", "algorithm": "fixed_window"})
}

// policyOf closes on errors, so that a decision that failed is a failed request and not a fast one.
func policyOf(headers bool, remember string, measured map[string]any) string {
	closed := func(limit map[string]any) map[string]any {
		limit["on_error"], limit["identity"] = "closed", "user"
		return limit
	}
	quota := "x-ratelimit"
	if !headers {
		quota = "none"
	}
	return asJSON(map[string]any{
		"headers":    quota,
		"redis":      map[string]any{"timeout": decisionTimeout},
		"deny_cache": map[string]any{"max_time": remember},
		"identities": map[string]any{"user": map[string]any{"from": "header:" + callerHeader}},
		"routes": map[string]any{
			"GET " + measuredPath: closed(measured),
			"GET " + probePath:    closed(map[string]any{"limit": probeLimit, "window": "1h"}),
		},
		"default": nil,
	})
}

// serviceLimits is the configuration of envoyproxy/ratelimit, as JSON, which it reads as YAML.
func serviceLimits() string {
	limit := func(unit string, n int) map[string]any { return map[string]any{"unit": unit, "requests_per_unit": n} }
	return asJSON(map[string]any{
		"domain": serviceDomain,
		"descriptors": []any{
			map[string]any{"key": serviceKey, "rate_limit": limit("minute", neverReached)},
			map[string]any{"key": serviceKey, "value": probeCaller, "rate_limit": limit("hour", probeLimit)},
		},
	})
}

func asJSON(value map[string]any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps, strings and numbers can always be written
	}
	return string(raw)
}
