package bootstrap

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// front is a connection manager with settings, routes and a plugin.
func front(settings, routes, configuration string) string {
	return fmt.Sprintf(`
- "@type": t/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
  %s
  route_config: {virtual_hosts: [{routes: [%s]}]}
  http_filters:
  - typed_config:
      "@type": t/envoy.extensions.filters.http.wasm.v3.Wasm
      config: {name: routelimit, configuration: {value: '%s'}}`, settings, routes, configuration)
}

func TestFrontIsThatOfThePolicysManager(t *testing.T) {
	text := "managers:" + front("use_remote_address: false", "", `{"role": "gateway"}`) +
		front("use_remote_address: true\n  skip_xff_append: true\n  xff_num_trusted_hops: 2",
			"{name: a, metadata: {filter_metadata: {routelimit: {route: GET /a, limits: []}}}}, {name: b}, {metadata: {filter_metadata: {routelimit: {}}}}",
			`{"mode": "off"}`)
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := c.Front()
	want := Front{UseRemoteAddress: true, SkipAppend: true, TrustedHops: 2, Carried: []Carried{
		{"a", []byte(`{"limits":[],"route":"GET /a"}`)}, {"", []byte(`{}`)},
	}}
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("%v, %v\n%s", ok, err, diff)
	}
}

func TestFrontIsMissingWhereNoManagerIsInTheFile(t *testing.T) {
	c, err := Parse([]byte(fmt.Sprintf(pluginYAML, `'{"mode": "off"}'`)))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := c.Front(); ok || err != nil {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
}

func TestFrontKnowsHowEnvoyFindsTheClient(t *testing.T) {
	extension := func(kind, fields string) string {
		return "original_ip_detection_extensions: [{name: x, typed_config: {\"@type\": t/envoy.extensions.http.original_ip_detection." + kind + ", " + fields + "}}]"
	}
	for settings, want := range map[string]Front{
		extension("xff.v3.XffConfig", "xff_num_trusted_hops: 2"):                            {TrustedHops: 2},
		extension("custom_header.v3.CustomHeaderConfig", "header_name: X-Client-Ip"):        {ClientHeader: "x-client-ip"},
		extension("custom_header.v3.CustomHeaderConfig", "common_tls_context: {a: {b: c}}"): {},
	} {
		c, err := Parse([]byte("managers:" + front(settings, "", `{"mode": "off"}`)))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := c.Front()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", settings, err, diff)
		}
	}
}
