package integration

import (
	"errors"
	"os"
	"strings"
	"testing"

	"routelimit/bootstrap"
	"routelimit/servers"
)

// wrongPolicy has four mistakes, each of another kind.
const wrongPolicy = `{
  "routes": {
    "POST /login": { "identity": "ip", "limit": 10, "windw": "5m" },
    "GET /api":    { "identity": "usernme", "limit": -1, "window": "60" }
  },
  "identities": { "username": { "from": "body:username" } },
  "default": null
}`

// wrongWords are what must be said of it: path, value, place and the nearest known name.
var wrongWords = []string{
	`routes["POST /login"].windw: unknown field; did you mean "window"? (line 3, column 53)`,
	`no identity is called "usernme"; did you mean "username"? (line 4, column 34)`,
	`routes["GET /api"].limit: -1 is out of range; `, ` (line 4, column 54)`,
	`routes["GET /api"].window: "60" has no unit; write a duration such as "60s" or "1m" (line 4, column 68)`,
}

func TestG30EnvoyRefusesToStartWithABadPolicy(t *testing.T) {
	c, err := configuration(upstream.get(t).Addr(), func(*bootstrap.Config) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPolicy(wrongPolicy); err != nil {
		t.Fatal(err)
	}
	_, err = runEnvoy(t.Context(), c, t.TempDir())
	var refused *servers.EnvoyConfigError
	if !errors.As(err, &refused) {
		t.Fatalf("error = %v, want Envoy's refusal", err)
	}
	log, err := os.ReadFile(refused.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wrongWords {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}
