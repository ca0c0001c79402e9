package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bootstrap"
)

// shape is what a column's configuration is made of.
type shape struct {
	Listeners, Clusters, Filters []string
	Policies                     int // plugins that hold the limiting policy
}

func shapeOf(t *testing.T, text []byte) shape {
	t.Helper()
	c, err := bootstrap.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var s shape
	static := c.Root()["static_resources"].(map[string]any)
	names := func(list any) (names []string) {
		for _, item := range list.([]any) {
			names = append(names, item.(map[string]any)["name"].(string))
		}
		return names
	}
	s.Listeners, s.Clusters = names(static["listeners"]), names(static["clusters"])
	manager, err := publicManager(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Filters = names(manager["http_filters"])
	for _, p := range c.Plugins() {
		if p.Configuration() == limitingPolicy() {
			s.Policies++
		}
	}
	return s
}

func TestEnvoyConfigHasWhatItsColumnNeedsAndNoMore(t *testing.T) {
	text, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]shape{
		keyNone: {[]string{"public", "bench_upstream"}, []string{"upstream"}, []string{routerFilter}, 0},
		keyIdle: {[]string{"public", "routelimit_redis", "bench_upstream"}, []string{"upstream", "routelimit", "redis"},
			[]string{"routelimit", routerFilter}, 0},
		keyProxied: {[]string{"public", "routelimit_redis", "bench_upstream"}, []string{"upstream", "routelimit", "redis"},
			[]string{"routelimit", routerFilter}, 1},
		keyDirect: {[]string{"public", "bench_upstream"}, []string{"upstream", "routelimit"},
			[]string{"routelimit", routerFilter}, 1},
		keyService: {[]string{"public", "bench_upstream"}, []string{"upstream", "ratelimit"},
			[]string{"envoy.filters.http.ratelimit", routerFilter}, 0},
	} {
		t.Run(key, func(t *testing.T) {
			at := slices.IndexFunc(allColumns(), func(c *column) bool { return c.key == key })
			got, err := envoyConfig(text, allColumns()[at], backends{"127.0.0.1:1", "127.0.0.1:2"}, "/module.wasm", 3)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, shapeOf(t, got)); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvoyConfigListensOnLoopbackAlone(t *testing.T) {
	text, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range allColumns() {
		raw, err := envoyConfig(text, column, backends{"127.0.0.1:1", "127.0.0.1:2"}, "/module.wasm", 3)
		if err != nil {
			t.Fatal(err)
		}
		c, err := bootstrap.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range c.Addresses() {
			if a.Host != "127.0.0.1" {
				t.Errorf("%s: %s listens on %s", column.key, a.Name, a.Host)
			}
		}
	}
}

func TestEnvoyConfigSaysWhatItMissesInEnvoyYAML(t *testing.T) {
	for _, text := range []string{
		"", "{}", "static_resources: {}", "static_resources: {listeners: [{name: public}]}",
		"static_resources: {listeners: [{name: public, filter_chains: [{filters: [{typed_config: {}}]}]}]}",
	} {
		for _, column := range allColumns() {
			if got, err := envoyConfig([]byte(text), column, backends{"127.0.0.1:1", "127.0.0.1:2"}, "/module.wasm", 3); err == nil {
				t.Errorf("%s from %q: no error, but %s", column.key, text, got)
			}
		}
	}
}

func TestServiceLimitsNameTheProbeAndTheRest(t *testing.T) {
	var got any
	if err := json.Unmarshal([]byte(serviceLimits()), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"domain": "d", "descriptors": []any{
		map[string]any{"key": "user", "rate_limit": map[string]any{"unit": "minute", "requests_per_unit": 1e8}},
		map[string]any{"key": "user", "value": "probe", "rate_limit": map[string]any{"unit": "hour", "requests_per_unit": 2.0}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}
