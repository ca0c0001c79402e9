//go:build !wasip1

package main_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	hosttest "routelimit/host-test"
)

func TestG31_AnEmptyConfigurationLimitsNothingAndSaysSoOnce(t *testing.T) {
	for _, configuration := range []string{"", "{}", "null", " \n"} {
		t.Run(fmt.Sprintf("%q", configuration), func(t *testing.T) {
			r := onScript(t, nil, configuration)
			for range 10 {
				s := r.do("POST", "/login", "{}", "content-type", jsonType)
				r.want("passed", s)
				respond(s, "200")
			}
			if n := r.logged("the configuration is empty, nothing is limited"); n != 1 {
				t.Errorf("%d log lines, want 1", n)
			}
			if len(r.script.Streams()) != 0 || r.plugin.TickPeriod() != 0 {
				t.Error("an empty configuration has a link or a tick")
			}
		})
	}
}

func TestG30_G31_ABadConfigurationIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ configuration, say string }{
		"a window without a unit": {"{\"routes\": {\"GET /a\": {\"identity\": \"ip\", \"limit\": 1,\n  \"window\": \"60\"}}, \"default\": null}", `routes["GET /a"].window: "60"`},
		"an unknown field":        {"{\"routes\": {\"GET /a\": {\"identity\": \"ip\", \"limit\": 1,\n  \"windw\": \"60s\"}}, \"default\": null}", `"window"`},
		"a list":                  {"\n  []", "line 2, column 3"},
		"no default":              {`{"routes": {}}`, `"default"`},
		"no JSON":                 {"{\n  \"routes\": {,}}", "line 2, column"},
		"a role beside a policy":  {"{\"routes\": {}, \"default\": null,\n  \"role\": \"gateway\"}", "line 2, column 3"},
		"an unknown role":         {"{\n  \"role\": \"gatewya\"}", "line 2, column 11"},
		"2 MB of garbage":         {strings.Repeat("\xff", 2<<20), "line 1, column 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, oneLimit(`"limit": 5, "window": "1m"`))
			_, err := r.vm.NewPlugin([]byte(c.configuration))
			if !errors.Is(err, hosttest.ErrRefused) {
				t.Fatalf("%v, want a refusal", err)
			}
			lines := r.vm.Logs(hosttest.LogError)
			if len(lines) != 1 {
				t.Fatalf("%d log lines, want 1:\n%s", len(lines), r.vm.LogText())
			}
			for _, want := range []string{"the configuration is refused", c.say, "line ", "column "} {
				if !strings.Contains(lines[0].Text, want) {
					t.Errorf("the log does not say %q:\n%s", want, lines[0].Text)
				}
			}
			r.wantCounter(1, r.counter("routelimit_rejected_configurations_total"), "rejected")
			r.want("passed", r.get("/a"), "under the live configuration")
			if got := len(r.script.Commands()); got != 1 {
				t.Errorf("%d commands; the live configuration limits no more", got)
			}
		})
	}
}

func TestG31_GoodThenBadThenGood(t *testing.T) {
	r := onRedis(t, oneLimit(`"limit": 5, "window": "1m", "algorithm": "fixed_window"`))
	if got := r.passes(2); got != 2 {
		t.Fatalf("%d passed", got)
	}
	if _, err := r.vm.NewPlugin([]byte(oneLimit(`"limit": -1, "window": "1m"`))); !errors.Is(err, hosttest.ErrRefused) {
		t.Fatalf("%v, want a refusal", err)
	}
	if got := r.passes(1); got != 1 {
		t.Error("the live configuration serves no more")
	}
	old := r.plugin
	r.plugin = r.configure(oneLimit(`"limit": 7, "window": "1m", "algorithm": "fixed_window"`))
	old.Close()
	if got := r.passes(10); got != 4 {
		t.Errorf("%d passed, want 4: 3 of 7 are used", got)
	}
	if got := r.host.Gauge("routelimit_routes"); got != 1 {
		t.Errorf("routelimit_routes is %d, want 1", got)
	}
}

func TestABadFirstConfigurationFailsTheStart(t *testing.T) {
	r := onScript(t, nil, "{}")
	vm, err := r.host.NewVM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	if _, err := vm.NewPlugin([]byte(`{"routes": 1}`)); !errors.Is(err, hosttest.ErrRefused) {
		t.Errorf("%v, want a refusal", err)
	}
	if vm.Dead() != nil {
		t.Error(vm.Dead())
	}
}

func TestG30_ManyRoutes(t *testing.T) {
	var routes strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&routes, `"GET /r%d/:id": {"identity": "ip", "limit": 1, "window": "1m"},`, i)
	}
	r := onRedis(t, `{"routes": {`+strings.TrimSuffix(routes.String(), ",")+`}, "default": null}`)
	for _, i := range []int{0, 2500, 4999} {
		r.want("passed", r.get(fmt.Sprintf("/r%d/1", i)))
		r.want("429", r.get(fmt.Sprintf("/r%d/2", i)))
	}
	r.want("passed", r.get("/r5000/1"))
}

// Whatever a request looks like, it is decided, and so is the next one.
func TestG33_OddRequestsDoNotTrap(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprint("x-h", i), "v")
	}
	var bytes []string
	for c := 0x80; c <= 0xff; c++ {
		bytes = append(bytes, "x-api-key", string([]byte{byte(c)}), fmt.Sprintf("x-%c", c), string([]byte{byte(c), 0x80}))
	}
	key := func(v string) []string { return []string{"x-api-key", v} }
	authority := func(method, host, path string, lines ...string) hosttest.Headers {
		return hosttest.RequestHeaders(method, host, path, lines...)
	}
	without := func(name string) hosttest.Headers {
		var kept hosttest.Headers
		for _, line := range authority("GET", "h", "/a") {
			if line[0] != name {
				kept = append(kept, line)
			}
		}
		return kept
	}
	for name, headers := range map[string]hosttest.Headers{
		"no API key":          authority("GET", "h", "/a"),
		"no authority":        without(":authority"),
		"no path":             without(":path"),
		"no method":           without(":method"),
		"no scheme":           without(":scheme"),
		"nothing at all":      {},
		"empty values":        authority("", "", "", "", "", "x-api-key", ""),
		"200 headers":         authority("GET", "h", "/a", many...),
		"all bytes":           authority("GET", "h\xff", "/a\xff\x80", bytes...),
		"a path of 64 KB":     authority("GET", "h", "/a"+strings.Repeat("/%2e%2e", 64<<10/7)),
		"a path of slashes":   authority("GET", "h", strings.Repeat("/", 64<<10)),
		"a query of 64 KB":    authority("GET", "h", "/a?"+strings.Repeat("key=%zz&", 8<<10)),
		"a method of 1000":    authority(strings.Repeat("M", 1000), "h", "/a"),
		"a value of 60 KB":    authority("GET", "h", "/a", key(strings.Repeat("k", 60_000))...),
		"headers of 500 KB":   authority("GET", "h", "/a", key(strings.Repeat("k", 500_000))...),
		"zeros":               authority("G\x00T", "h", "/\x00a", key("\x00")...),
		"an asterisk":         authority("OPTIONS", "h", "*"),
		"an absolute path":    authority("GET", "h", "http://h/a"),
		"no slash":            authority("GET", "h", "a"),
		"a cookie of nothing": authority("GET", "h", "/a", "cookie", ";;==; =;"),
	} {
		for _, generation := range []hosttest.Generation{hosttest.Old, hosttest.Current} {
			t.Run(name+" "+generation.String(), func(t *testing.T) {
				r := onScriptWith(t, hosttest.Options{Generation: generation}, allow, `{"client": {"trusted_hops": 1},
					"identities": {"api_key": {"from": "header:x-api-key", "fold": true}, "key": {"from": "query:key"}, "sid": {"from": "cookie:sid"}},
					"routes": {"GET /a": {"identity": "api_key|key|sid", "limit": 5, "window": "1m"}, "GET h.example/a": {"limits": []}},
					"default": {"identity": "api_key|key|sid|ip", "limit": 5, "window": "1m"}}`)
				for range 3 {
					s := r.plugin.NewStream()
					s.SendHeaders(headers, true)
					if got := len(r.script.Streams()); got != 1 {
						t.Fatalf("%d links: the request was not limited", got)
					}
					r.deliver()
					r.want("passed", s)
					respond(s, "200")
				}
				for _, command := range r.script.Commands() {
					if k := keyOf(command); len(k) > 1000 {
						t.Errorf("a key of %d bytes", len(k))
					}
				}
				r.want("passed", r.get("/a"), "a normal one")
			})
		}
	}
}

// The properties of a request are answered by Envoy, but may be missing or odd.
func TestG33_OddPropertiesDoNotTrap(t *testing.T) {
	for name, value := range map[string][]byte{
		"absent": nil, "empty": {}, "garbage": []byte("\xff\xfe\x00"), "long": []byte(strings.Repeat("9", 70_000)),
		"a bare colon": []byte(":"), "brackets": []byte("[]:1"), "a large port": []byte("203.0.113.7:99999"),
	} {
		t.Run(name, func(t *testing.T) {
			r := onScript(t, allow, `{"client": {"trusted_hops": 0}, "identities": {"sub": {"from": "metadata:jwt/sub"}},
				"routes": {}, "default": {"identity": "sub|ip", "limit": 5, "window": "1m", "per": "envoy_route", "exempt": ["203.0.113.7"]}}`)
			s := r.plugin.NewStream()
			for _, path := range [][]string{{"source", "address"}, {"xds", "route_metadata"}, {"xds", "route_name"}, {"metadata", "filter_metadata", "jwt", "sub"}} {
				if value == nil {
					s.FailProperty(1, path...)
				} else {
					s.SetProperty(value, path...)
				}
			}
			s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/a"), true)
			r.deliver()
			r.want("passed", s)
			if got := len(r.script.Commands()); got != 1 {
				t.Errorf("%d commands, want 1", got)
			}
		})
	}
}
