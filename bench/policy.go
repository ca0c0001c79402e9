package main

import "encoding/json"

// What every column is asked. Both limiters limit by this header; on the measured path, or for the measured caller, the
// limit is never reached. envoyproxy/ratelimit tells the two apart by the caller and routelimit by the path.
const (
	callerHeader   = "x-user"
	measuredPath   = "/measured"
	measuredCaller = "bench"
	probePath      = "/probe"
	probeCaller    = "probe"

	neverReached = 100_000_000 // a minute
	probeLimit   = 2           // an hour
)

// All limiters may take a second for a decision: a machine that stalls then shows in the latencies of all of them, and not
// in refusals of the one with the shortest patience. redis_proxy has to give up first (see envoy.yaml).
const (
	decisionTimeout = "1s"
	proxyTimeout    = "0.9s"
)

// limitingPolicy closes on errors, so that a decision that failed is a failed request and not a fast one.
func limitingPolicy() string {
	limit := func(n int, window string) map[string]any {
		return map[string]any{"on_error": "closed", "identity": "user", "limit": n, "window": window}
	}
	return asJSON(map[string]any{
		"redis":      map[string]any{"timeout": decisionTimeout},
		"deny_cache": map[string]any{"max_time": "0s"}, // every request is asked about, refused ones too
		"identities": map[string]any{"user": map[string]any{"from": "header:" + callerHeader}},
		"routes": map[string]any{
			"GET " + measuredPath: limit(neverReached, "1m"),
			"GET " + probePath:    limit(probeLimit, "1h"),
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
