package hosttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProperties(t *testing.T) {
	for name, c := range map[string]struct{ path, want string }{
		"default source":           {"source/address", "= 0 127.0.0.1:40000"},
		"of the stream":            {"xds/route_name", "= 0 login"},
		"of the root":              {"xds/cluster_name", "= 0 users"},
		"stream before root":       {"xds/virtual_host_name", "= 0 mine"},
		"unknown":                  {"xds/listener_direction", "= 1"},
		"cannot be serialised":     {"metadata/filter_metadata/jwt", "= 3"},
		"missing on purpose":       {"destination/address", "= 1"},
		"path":                     {"request/path", "= 0 /orders/5?x=1"},
		"path without query":       {"request/url_path", "= 0 /orders/5"},
		"query":                    {"request/query", "= 0 x=1"},
		"method":                   {"request/method", "= 0 GET"},
		"host":                     {"request/host", "= 0 api.example.com"},
		"no request id":            {"request/id", "= 1"},
		"no such request property": {"request/color", "= 1"},
		"a header's lines, joined": {"request/headers/x-key", "= 0 1,2"},
		"an absent header":         {"request/headers/x-none", "= 1"},
		"filter state":             {"rl.limit", "= 0 login"},
		"filter state by its name": {"filter_state/wasm.rl.limit", "= 0 login"},
		"no such filter state":     {"wasm.rl.limit", "= 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{}, "request_headers: setproperty rl.limit login; property "+c.path)
			p.SetProperty([]byte("users"), "xds", "cluster_name")
			p.SetProperty([]byte("theirs"), "xds", "virtual_host_name")
			s := p.NewStream()
			s.SetProperty([]byte("login"), "xds", "route_name")
			s.SetProperty([]byte("mine"), "xds", "virtual_host_name")
			s.FailProperty(3, "metadata", "filter_metadata", "jwt")
			s.FailProperty(1, "destination", "address")
			s.SendHeaders(get("x-key", "1", "x-key", "2"), true)
			if diff := cmp.Diff([]string{c.want}, said(p.VM(), "property "+c.path)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"wasm.rl.limit": "login"}, s.FilterState()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSourceAddressCanBeSetOrMissing(t *testing.T) {
	p := start(t, Options{}, "request_headers: property source/address")
	p.SetProperty([]byte("192.0.2.7:1"), "source", "address")
	p.Request(get(), nil)
	s := p.NewStream()
	s.FailProperty(1, "source", "address")
	s.SendHeaders(get(), true)
	if diff := cmp.Diff([]string{"= 0 192.0.2.7:1", "= 1"}, said(p.VM(), "property source/address")); diff != "" {
		t.Error(diff)
	}
}

func TestRootHasNoFilterState(t *testing.T) {
	p := start(t, Options{}, "configure: setproperty a b; property a")
	want := []string{"setproperty a b = 1", "property a = 1"}
	if diff := cmp.Diff(want, said(p.VM(), "")[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestForeignFunctions(t *testing.T) {
	const message = `\n` + "\x01n" // field 1: "n"
	p := start(t, Options{}, "configure: foreign declare_property x; foreign set_envoy_filter_state x; foreign brew x; foreign declare_property "+message+"; foreign set_envoy_filter_state "+message)
	want := []string{"declare_property x = 2", "set_envoy_filter_state x = 2", "brew x = 1", "declare_property " + message + " = 0", "set_envoy_filter_state " + message + " = 1"}
	if diff := cmp.Diff(want, said(p.VM(), "foreign ")); diff != "" {
		t.Error(diff)
	}
}
