package main

import (
	"os"
	"testing"

	"routelimit/policy"
)

// A tip that would not come true is not given.
func TestTipsAreGivenOnlyWhereTheNumbersDecide(t *testing.T) {
	const limits = `"identity": "ip", "limit": 10, "window": "5m"`
	for name, c := range map[string]struct {
		top, login string
		want       int
	}{
		"plain":            {"", limits, 1},
		"shadow mode":      {`"mode": "shadow", `, limits, 0},
		"a shadow limit":   {"", limits + `, "shadow": true`, 0},
		"a bucket":         {"", limits + `, "algorithm": "token_bucket", "burst": 3`, 0},
		"a cost":           {"", limits + `, "cost": 2`, 0},
		"some statuses":    {"", limits + `, "count": [200]`, 0},
		"an exemption":     {"", limits + `, "exempt": ["127.0.0.0/8"]`, 0},
		"nothing passes":   {"", `"identity": "ip", "limit": 0, "window": "5m"`, 0},
		"too many to send": {"", `"identity": "ip", "limit": 200, "window": "5m"`, 0},
	} {
		p, err := policy.Parse([]byte(`{`+c.top+`"routes": {"POST /login": {`+c.login+`}}, "default": null}`), os.LookupEnv)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := len(tips(p, "")); got != c.want {
			t.Errorf("%s: %d tips, want %d", name, got, c.want)
		}
	}
}
