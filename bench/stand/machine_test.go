package stand

import "testing"

func TestVersionsAreReadFromWhatServersSay(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"envoy", envoyVersion("\n/usr/bin/envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n"),
			"1.40.0 RELEASE"},
		{"another envoy", envoyVersion("envoy 2\n"), "envoy 2"},
		{"redis", redisVersion("# Server\r\nredis_version:8.2.3\r\nredis_mode:standalone\r\n"), "Redis 8.2.3"},
		{"valkey", redisVersion("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n"), "Valkey 9.1.2"},
		{"processor", cpuModel("processor\t: 0\nmodel\t\t: 106\nmodel name\t: Some Processor @ 2 GHz: fast\nmodel name\t: other\n"),
			"Some Processor @ 2 GHz: fast"},
		{"a processor without a name", cpuModel("processor\t: 0\nBogoMIPS\t: 50\n"), "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}
