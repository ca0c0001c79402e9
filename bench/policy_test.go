package main

import (
	"testing"

	"routelimit/policy"
)

func TestLimitingPolicyLimitsTheMeasuredRequestAndTheProbe(t *testing.T) {
	p, err := policy.Parse([]byte(limitingPolicy()), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{measuredPath: neverReached, probePath: probeLimit} {
		var m policy.Matched
		route := p.Match("GET", "localhost", path, &m)
		if route == nil || len(route.Limits) != 1 {
			t.Fatalf("%s leads to %+v, want a route with one limit", path, route)
		}
		if got := route.Limits[0].Limit.Limit; got != want || route.OnError != policy.Closed {
			t.Errorf("%s has a limit of %d and on_error %v, want %d and %v", path, got, route.OnError, want, policy.Closed)
		}
	}
}
