package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"routelimit/bootstrap"
	"routelimit/described"
	"routelimit/policy"
	"routelimit/policy/identity"
)

var settingRow = regexp.MustCompile("\n\\| ([^|`]*) \\| `(true|false)` \\| `([0-9])` \\| `([0-9.]+)` \\| (?:`([0-9., ]+)`)? *\\| (?:`([0-9.]+)`|(unknown)) \\|")

func reference(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Each row of the reference is a request that arrives at an Envoy of that setting.
func TestG03_EverySettingOfTheReferenceFindsTheClientItSays(t *testing.T) {
	_, section, _ := strings.Cut(reference(t), "**For each setting of the connection manager.**")
	section, _, _ = strings.Cut(section, "\n\n**Where Envoy finds")
	rows := settingRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n|") - 2; len(rows) != lines || lines < 8 {
		t.Fatalf("%d of %d rows can be read", len(rows), lines)
	}
	for _, row := range rows {
		name, remote, hops, peer, sent, want := row[1], row[2], row[3], row[4], row[5], row[6]
		a := &described.Request{Properties: map[string]string{}}
		if sent != "" {
			a.Headers = [][2]string{{"x-forwarded-for", sent}}
		}
		if err := a.Arrive(peer, &bootstrap.Front{UseRemoteAddress: remote == "true"}); err != nil {
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

var detectionRow = regexp.MustCompile("\n\\| ([^|`]*) \\| `(true|false)` \\| (?:`([a-z_.]+)(?:: ([0-9]))?`)? *\\| `([0-9.]+)` \\| (?:`([0-9., ]+)`)? *\\| `([0-9.]+)`")

// So is each row of the other table, in which Envoy finds the client.
func TestG03_EverySettingByWhichEnvoyFindsTheClientFindsWhomTheReferenceSays(t *testing.T) {
	_, section, _ := strings.Cut(reference(t), "**Where Envoy finds the client itself**")
	section, _, _ = strings.Cut(section, "\n\n`original_ip_detection")
	rows := detectionRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n|") - 2; len(rows) != lines || lines < 8 {
		t.Fatalf("%d of %d rows can be read", len(rows), lines)
	}
	for _, row := range rows {
		name, remote, setting, number, peer, sent, want := row[1], row[2], row[3], row[4], row[5], row[6], row[7]
		front := &bootstrap.Front{UseRemoteAddress: remote == "true"}
		a := &described.Request{Properties: map[string]string{}, Headers: [][2]string{{"x-client-ip", "203.0.113.7"}}}
		if sent != "" {
			a.Headers = append(a.Headers, [2]string{"x-forwarded-for", sent})
		}
		switch setting {
		case "xff_num_trusted_hops", "original_ip_detection.xff":
			front.TrustedHops = int(number[0] - '0')
		case "original_ip_detection.custom_header":
			front.ClientHeader = "x-client-ip"
		}
		if err := a.Arrive(peer, front); err != nil {
			t.Fatal(err)
		}
		got := identity.NewDefinitions(nil, identity.Client{TrustedHops: -1}, nil).TraceClient(&identity.Request{Attrs: a})
		if got.Address != want {
			t.Errorf("%s, use_remote_address %s, %s: got %+v, the page says %q", name, remote, setting, got, want)
		}
	}
}
