package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/stand"
	"routelimit/bootstrap"
)

// shipped is the project's envoy.yaml, with which columns begin.
func shipped(t *testing.T) *bootstrap.Config {
	t.Helper()
	text, err := os.ReadFile("../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := bootstrap.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shape is what a column's configuration is made of.
type shape struct {
	Listeners, Clusters, Filters []string
	Policies                     int // plugins that hold the column's policy
}

func shapeOf(t *testing.T, c *bootstrap.Config, policy func(bool) string) shape {
	t.Helper()
	var s shape
	static := c.Root()["static_resources"].(map[string]any)
	names := func(list any) (names []string) {
		for _, item := range list.([]any) {
			names = append(names, item.(map[string]any)["name"].(string))
		}
		return names
	}
	s.Listeners, s.Clusters = names(static["listeners"]), names(static["clusters"])
	manager, err := stand.Manager(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Filters = names(manager["http_filters"])
	for _, p := range c.Plugins() {
		if policy != nil && p.Configuration() == policy(true) {
			s.Policies++
		}
	}
	return s
}

func TestColumnsHaveWhatTheyNeedAndNoMore(t *testing.T) {
	const router = "envoy.filters.http.router"
	proxied := shape{[]string{"public", "routelimit_redis"}, []string{"upstream", "routelimit", "redis"},
		[]string{"routelimit", router}, 1}
	direct := shape{[]string{"public"}, []string{"upstream", "routelimit"}, []string{"routelimit", router}, 1}
	without := func(filters, clusters []string) shape {
		return shape{[]string{"public"}, slices.Concat([]string{"upstream"}, clusters), append(filters, router), 0}
	}
	want := map[string]shape{
		keyNone: without(nil, nil), keyIdle: proxied, keyProxied: proxied, "direct": direct, "bridge": direct, keyLease: proxied, keyDeny: proxied,
		"local":         without([]string{"envoy.filters.http.local_ratelimit"}, nil),
		plainService:    without([]string{"envoy.filters.http.ratelimit"}, []string{"ratelimit"}),
		windowedService: without([]string{"envoy.filters.http.ratelimit"}, []string{"ratelimit"}),
	}
	got := map[string]shape{}
	for _, column := range allColumns() {
		c := shipped(t)
		if err := column.configure(c, backends{"127.0.0.1:1", "127.0.0.1:2", true}); err != nil {
			t.Fatal(err)
		}
		got[column.key] = shapeOf(t, c, column.policy)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configurations (-want +got):\n%s", diff)
	}
}

// TestEverybodySendsQuotaHeadersOrNobody looks at the two limiters that are Envoy's own and at routelimit's policy.
func TestEverybodySendsQuotaHeadersOrNobody(t *testing.T) {
	for _, on := range []bool{true, false} {
		for key, want := range map[string]map[bool]string{
			"local": {true: "DRAFT_VERSION_03", false: "OFF"}, plainService: {true: "DRAFT_VERSION_03", false: "OFF"},
			keyProxied: {true: "x-ratelimit", false: "none"},
		} {
			c, column := shipped(t), find(key)
			if err := column.configure(c, backends{"127.0.0.1:1", "127.0.0.1:2", on}); err != nil {
				t.Fatal(err)
			}
			got := ""
			if column.policy != nil {
				var policy struct{ Headers string }
				if err := json.Unmarshal([]byte(column.policy(on)), &policy); err != nil {
					t.Fatal(err)
				}
				got = policy.Headers
			} else {
				manager, _ := stand.Manager(c)
				filter := manager["http_filters"].([]any)[0].(map[string]any)
				got, _ = filter["typed_config"].(map[string]any)["enable_x_ratelimit_headers"].(string)
			}
			if got != want[on] {
				t.Errorf("%s, headers %v: %q, want %q", key, on, got, want[on])
			}
		}
	}
}

func TestColumnsSayWhatTheyMissInEnvoyYAML(t *testing.T) {
	for _, text := range []string{
		"{}", "static_resources: {}", "static_resources: {listeners: [{name: public}]}",
		"static_resources: {listeners: [{name: public, filter_chains: [{filters: [{typed_config: {}}]}]}]}",
	} {
		for _, column := range allColumns() {
			c, err := bootstrap.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := column.configure(c, backends{"127.0.0.1:1", "127.0.0.1:2", true}); err == nil {
				t.Errorf("%s from %q: no error, but %s", column.key, text, c.Bytes())
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
