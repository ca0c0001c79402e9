package main

import (
	"testing"

	"routelimit/policy"
)

func TestPoliciesLimitTheMeasuredRequestAndTheProbe(t *testing.T) {
	for name, c := range map[string]struct {
		policy func(bool) string
		limit  int64
	}{"asking": {askingPolicy, neverReached}, "refusing": {denyPolicy, 1}} {
		for _, headers := range []bool{true, false} {
			p, err := policy.Parse([]byte(c.policy(headers)), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]int64{measuredPath: c.limit, probePath: probeLimit} {
				var m policy.Matched
				route := p.Match("GET", "localhost", path, &m)
				if route == nil || len(route.Limits) != 1 {
					t.Fatalf("%s: %s leads to %+v, want a route with one limit", name, path, route)
				}
				if got := route.Limits[0].Limit.Limit; got != want || route.OnError != policy.Closed {
					t.Errorf("%s: %s has a limit of %d and on_error %v, want %d and %v", name, path, got, route.OnError, want, policy.Closed)
				}
			}
		}
	}
}
