package main

import (
	"routelimit/bench/stand"
	"routelimit/bootstrap"
)

func configureNone(c *bootstrap.Config, _ backends) error { return stand.Unlimit(c, nil) }

// configureProxied is what is shipped, with another policy.
func configureProxied(policy func(headers bool) string) func(*bootstrap.Config, backends) error {
	return func(c *bootstrap.Config, b backends) error {
		if err := stand.SetProxyTimeout(c, proxyTimeout); err != nil {
			return err
		}
		return stand.Limit(c, policy(b.headers))
	}
}

// configureDirect leads the stream to Redis itself.
func configureDirect(c *bootstrap.Config, b backends) error {
	if err := stand.Direct(c); err != nil {
		return err
	}
	return stand.Limit(c, askingPolicy(b.headers))
}

// configureBridged leads the stream to a bridge.
func configureBridged(c *bootstrap.Config, b backends) error {
	if err := stand.Bridge(c, b.service); err != nil {
		return err
	}
	return stand.Limit(c, askingPolicy(b.headers))
}

// configureLocal puts Envoy's own local limiter in routelimit's place. It knows the callers that are written down, here
// the probe; all others share a bucket.
func configureLocal(c *bootstrap.Config, b backends) error {
	bucket := func(tokens int, interval string) map[string]any {
		return map[string]any{"max_tokens": tokens, "tokens_per_fill": tokens, "fill_interval": interval}
	}
	everything := map[string]any{"default_value": map[string]any{"numerator": 100, "denominator": "HUNDRED"}}
	filter := map[string]any{
		"name": "envoy.filters.http.local_ratelimit",
		"typed_config": map[string]any{
			"@type":          stand.TypePrefix + "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
			"stat_prefix":    "local",
			"token_bucket":   bucket(neverReached, "60s"),
			"filter_enabled": everything, "filter_enforced": everything,
			"descriptors": []any{map[string]any{
				"entries":      []any{map[string]any{"key": serviceKey, "value": probeCaller}},
				"token_bucket": bucket(probeLimit, "3600s"),
			}},
			"enable_x_ratelimit_headers": xRateLimit(b.headers),
		},
	}
	if err := stand.Unlimit(c, filter); err != nil {
		return err
	}
	return limitByHeaders(c, map[string]string{callerHeader: serviceKey})
}

// xRateLimit lets a limiter of Envoy's own send the three headers that routelimit sends.
func xRateLimit(on bool) string {
	if on {
		return "DRAFT_VERSION_03"
	}
	return "OFF"
}
