package stand

import (
	"os"
	"testing"

	"routelimit/bootstrap"
)

func TestConfigListensOnLoopbackAlone(t *testing.T) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := configOf(text, "/module.wasm", "127.0.0.1:1", 3, func(c *bootstrap.Config) error { return Limit(c, "{}") })
	if err != nil {
		t.Fatal(err)
	}
	c, err := bootstrap.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	upstream := false
	for _, a := range c.Addresses() {
		upstream = upstream || a.Name == upstreamListener && a.Port == 3
		if a.Host != "127.0.0.1" {
			t.Errorf("%s listens on %s", a.Name, a.Host)
		}
	}
	if !upstream {
		t.Errorf("nothing answers on the upstream's port: %v", c.Addresses())
	}
}

func TestConfigSaysWhatItMissesInEnvoyYAML(t *testing.T) {
	for _, text := range []string{"", "{}", "static_resources: {}", "static_resources: {listeners: [{name: public}]}"} {
		got, err := configOf([]byte(text), "/module.wasm", "127.0.0.1:1", 3, func(*bootstrap.Config) error { return nil })
		if err == nil {
			t.Errorf("from %q: no error, but %s", text, got)
		}
	}
}
