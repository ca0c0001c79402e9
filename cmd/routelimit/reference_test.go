package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"routelimit/bootstrap"
	"routelimit/policy"
	"routelimit/policy/identity"
)

var settingRow = regexp.MustCompile("\n\\| ([^|`]*) \\| `(true|false)` \\| `([0-9])` \\| `([0-9.]+)` \\| (?:`([0-9., ]+)`)? *\\| (?:`([0-9.]+)`|(unknown)) \\|")

// Each row of the reference is a request that arrives at an Envoy of that setting.
func TestG03_EverySettingOfTheReferenceFindsTheClientItSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "**For each setting of the connection manager.**")
	section, _, _ = strings.Cut(section, "\n\nA chain")
	rows := settingRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n|") - 2; len(rows) != lines || lines < 8 {
		t.Fatalf("%d of %d rows can be read", len(rows), lines)
	}
	for _, row := range rows {
		name, remote, hops, peer, sent, want := row[1], row[2], row[3], row[4], row[5], row[6]
		a := &attributes{properties: map[string]string{}}
		if sent != "" {
			a.headers = [][2]string{{"x-forwarded-for", sent}}
		}
		if err := a.arrive(peer, &bootstrap.Front{UseRemoteAddress: remote == "true"}); err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse([]byte(`{"client": {"trusted_hops": `+hops+`}}`), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Definitions().TraceClient(&identity.Request{Attrs: a})
		if got.Address != want {
			t.Errorf("%s, use_remote_address %s, trusted_hops %s: got %+v, the page says %q", name, remote, hops, got, want+row[7])
		}
	}
}
