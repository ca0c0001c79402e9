//go:build !wasip1

package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	hosttest "routelimit/host-test"
)

func TestExemptAddressesAreNeitherCountedNorRefused(t *testing.T) {
	r := onRedis(t, `{"client": {"trusted_hops": 1}, "routes": {"GET /a": {"identity": "ip", "limit": 1, "window": "1m",
		"exempt": ["203.0.113.0/24", "2001:db8::/32", "192.0.2.9"]}}, "default": null}`)
	for _, address := range []string{"203.0.113.7", "2001:db8::7", "192.0.2.9", "::ffff:203.0.113.9"} {
		for range 3 {
			r.want("passed", r.forwarded("192.0.2.1:1", address), address)
		}
	}
	if keys := r.keys(); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
	r.wantCounter(12, r.requests("GET:/a", "", "exempt"), "exempt")
	// A caller cannot name himself exempt, nor is who has no address.
	r.want("passed", r.forwarded("192.0.2.1:1", "203.0.113.7, 198.51.100.1"))
	r.want("429", r.forwarded("192.0.2.1:1", "203.0.113.7, 198.51.100.1"))
	r.want("passed", r.forwarded("192.0.2.1:1", "nobody"))
	r.want("429", r.forwarded("192.0.2.1:1", "nobody"))
}

// The hashes are those that routelimit hash prints for live_1 and, under the
// parameter, for acme.
func TestExemptIdentitiesAreNeitherCountedNorRefused(t *testing.T) {
	r := onRedis(t, `{"identities": {"api_key": {"from": "header:x-api-key", "secret": true}, "tenant": {"from": "path:tenant"}},
		"routes": {"GET /t/:tenant": {"identity": "ip", "limit": 1, "window": "1m", "exempt": ["api_key:`+shortHash("live_1")+`", "tenant:`+shortHash("acme")+`"]}},
		"default": null}`)
	for range 3 {
		r.want("passed", r.get("/t/x", "x-api-key", "live_1"))
		r.want("passed", r.get("/t/acme;v=1"))
	}
	if keys := r.keys(); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
	r.wantCounter(6, r.requests("GET:/t/:tenant", "", "exempt"), "exempt")
	// The hash is no password, two values are none, and what is odd counts once.
	r.want("passed", r.get("/t/x", "x-api-key", shortHash("live_1")))
	r.want("429", r.get("/t/x", "x-api-key", "live_2"))
	r.want("429", r.get("/t/x", "x-api-key", "live_1", "x-api-key", "live_1"))
	r.wantCounter(0, r.counter("routelimit_identity_total", "kind", "ambiguous"), "ambiguous")
}

// shortHash is how a secret stands in keys where the policy names no hash key.
func shortHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// An exempt client's body is not waited for.
func TestExemptRequestsAreNotHeld(t *testing.T) {
	r := onScript(t, nil, strings.Replace(login, `"limit"`, `"exempt": ["203.0.113.7"], "limit"`, 1))
	s := r.plugin.NewStream()
	s.SetProperty([]byte(client), "source", "address")
	s.SendHeaders(hosttest.RequestHeaders("POST", "h", "/login", "content-type", jsonType), false)
	r.want("passed", s)
}

func TestDefaultCoversWhatNoRouteDoes(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"limits": []}}, "default": {"identity": "ip", "limit": 2, "window": "1m"}}`)
	for range 5 {
		r.want("passed", r.get("/a"), "declared and unlimited")
	}
	r.want("passed", r.get("/new"))
	r.want("passed", r.do("DELETE", "/newer", ""))
	r.want("429", r.get("/newest"))
	if diff := cmp.Diff([]string{"rl:{default|ip:203.0.113.7}"}, r.keys()); diff != "" {
		t.Error(diff)
	}
	r.wantCounter(1, r.requests("default", "ip", "refused"), "refused")
	r.wantCounter(5, r.requests("GET:/a", "", "unlimited"), "unlimited")
}

func TestWhatNoRouteCoversIsCounted(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 2, "window": "1m"}}, "default": null}`)
	r.want("passed", r.get("/a"))
	for range 3 {
		r.want("passed", r.get("/new"))
	}
	r.wantCounter(3, r.requests("undeclared", "", "unlimited"), "unlimited")
	r.wantCounter(0, r.requests("GET:/a", "", "unlimited"), "of a route that has a limit")
}

func TestDefaultPerEnvoyRoute(t *testing.T) {
	r := onRedis(t, `{"default": {"per": "envoy_route", "identity": "ip", "limit": 1, "window": "1m"}}`)
	of := func(route string) *hosttest.Stream {
		s := r.plugin.NewStream()
		s.SetProperty([]byte(client), "source", "address")
		s.SetProperty([]byte(route), "xds", "route_name")
		s.SendHeaders(hosttest.RequestHeaders("GET", "h", "/"), true)
		r.deliver()
		return s
	}
	r.want("passed", of("orders"))
	r.want("passed", of("users}|{"))
	r.want("passed", of(""))
	r.want("429", of("orders"))
	if got := len(r.keys()); got != 3 {
		t.Errorf("keys %v", r.keys())
	}
}

func TestUndeclaredRefuse(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 1, "window": "1m"}}, "undeclared": "refuse"}`)
	r.want("passed", r.get("/a"))
	s := r.get("/b")
	r.want("404", s)
	if got, want := string(s.Client().Body), `{"error":"undeclared_route"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if s.Details() != "routelimit_undeclared" || s.FilterState()["wasm.routelimit.outcome"] != "undeclared" {
		t.Errorf("details %q, filter state %v", s.Details(), s.FilterState())
	}
	head := r.do("HEAD", "/b", "")
	r.want("404", head)
	if len(head.Client().Body) != 0 {
		t.Errorf("HEAD got the body %s", head.Client().Body)
	}
	grpc := r.do("POST", "/b", "x", "content-type", "application/grpc")
	r.want("404", grpc)
	if got := grpc.Client().Headers.Get("grpc-status"); got != "12" {
		t.Errorf("grpc-status %q, want 12", got)
	}
	r.wantCounter(3, r.requests("undeclared", "", "refused"), "undeclared")
	if got := len(r.keys()); got != 1 {
		t.Errorf("keys %v", r.keys())
	}
}

func TestUndeclaredIsAnsweredInTheConfiguredForm(t *testing.T) {
	s := onScript(t, nil, `{"response": {"format": "problem", "headers": {"x-limited-by": "edge"}},
		"routes": {"GET /a": {"identity": "ip", "limit": 1, "window": "1m"}}, "undeclared": "refuse"}`).get("/b")
	h, body := s.Client().Headers, string(s.Client().Body)
	if h.Get("content-type") != "application/problem+json" || h.Get("x-limited-by") != "edge" || !strings.Contains(body, `"status":404`) {
		t.Errorf("headers %v, body %s", h, body)
	}
}

// metadata is what Envoy gives as the metadata of a route: namespaces and their
// fields in JSON.
func metadata(t testing.TB, namespaces map[string]string) []byte {
	t.Helper()
	m := &core.Metadata{FilterMetadata: map[string]*structpb.Struct{}}
	for name, text := range namespaces {
		fields := &structpb.Struct{}
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		m.FilterMetadata[name] = fields
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// on is a GET on an Envoy route with metadata.
func (r *rig) on(metadata []byte, path string) *hosttest.Stream {
	r.t.Helper()
	s := r.plugin.NewStream()
	s.SetProperty([]byte(client), "source", "address")
	s.SetProperty(metadata, "xds", "route_metadata")
	s.SendHeaders(hosttest.RequestHeaders("GET", "h", path), true)
	r.deliver()
	return s
}

const underMetadata = `{"identities": {"id": {"from": "path:id"}, "other": {"from": "path:other"}},
	"routes": {"GET /a": {"identity": "ip", "limit": 100, "window": "1m"}, "GET /x/:other": {"identity": "other", "limit": 100, "window": "1m"}}, "default": null}`

func TestRouteMetadataWinsOverRoutes(t *testing.T) {
	r := onRedis(t, underMetadata)
	m := metadata(t, map[string]string{
		"other.filter": `{"a": 1}`,
		"routelimit":   `{"route": "GET /a", "identity": "ip", "limit": 1, "window": "30s", "on_error": "closed"}`,
	})
	r.want("passed", r.on(m, "/a"))
	r.want("429", r.on(m, "/a"))
	r.want("429", r.on(m, "/anything"), "Envoy has chosen the route")
	r.want("passed", r.get("/a"), "the same path on another route of Envoy")
	if diff := cmp.Diff(map[string]string{"w30": "1729771200 1 0", "w60": "1729771200 1 0"}, r.stored("rl:{GET:/a|ip:203.0.113.7}")); diff != "" {
		t.Error(diff)
	}
	without := metadata(t, map[string]string{"other.filter": `{"a": 1}`})
	r.want("passed", r.on(without, "/a"))
	if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w60"); got != 2 {
		t.Errorf("metadata of others only: %d count, want 2", got)
	}
}

func TestRouteMetadataChangesWithoutASign(t *testing.T) {
	r := onRedis(t, underMetadata)
	for _, limit := range []int{1, 3} {
		m := metadata(t, map[string]string{"routelimit": fmt.Sprintf(`{"route": "GET /m", "identity": "ip", "limit": %d, "window": "1m"}`, limit)})
		passed := 0
		for range 5 {
			if fate(r.on(m, "/m")) == "passed" {
				passed++
			}
		}
		if want := []int{0, 1, 0, 2}[limit]; passed != want {
			t.Errorf("limit %d: %d passed, want %d", limit, passed, want)
		}
	}
}

// A parameter is the request's own, not one that an earlier request left behind.
func TestRouteMetadataParametersAreThoseOfTheRequest(t *testing.T) {
	r := onRedis(t, underMetadata)
	m := metadata(t, map[string]string{"routelimit": `{"route": "GET /m/:id", "identity": "id", "limit": 100, "window": "1m"}`})
	r.want("passed", r.on(m, "/m/7"))
	r.want("passed", r.get("/x/8"))
	r.want("passed", r.on(m, "/m/9"))
	r.want("passed", r.on(m, "/not/the/template"))
	want := []string{"rl:{GET:/m/:id|id:7}", "rl:{GET:/m/:id|id:9}", "rl:{GET:/m/:id|ip:203.0.113.7}", "rl:{GET:/x/:other|other:8}"}
	if diff := cmp.Diff(want, r.keys()); diff != "" {
		t.Error(diff)
	}
}

// It is parsed once, not once a request: a bad one is counted once, and the
// routes of the configuration apply.
func TestBadRouteMetadataIsCountedAndLoggedOnce(t *testing.T) {
	good := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limit": 100, "window": "1m"}`})
	for name, bad := range map[string][]byte{
		"an unknown field": metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limt": 1, "window": "1m"}`}),
		"no template":      metadata(t, map[string]string{"routelimit": `{"identity": "ip", "limit": 1, "window": "1m"}`}),
		"cut off":          good[:len(good)-5],
		"no protobuf":      []byte("\xff\xff\xff\xff\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, underMetadata)
			for range 5 {
				r.want("passed", r.on(bad, "/a"))
				r.want("passed", r.on(good, "/a"), "another route in between")
			}
			if got := r.count("rl:{GET:/a|ip:203.0.113.7}", "w60"); got != 10 {
				t.Errorf("%d count, want 10: the configuration's route applies", got)
			}
			r.wantCounter(1, r.counter("routelimit_route_metadata_refused_total"), "refused metadata")
			if n := r.logged("route's metadata are refused"); n != 1 {
				t.Errorf("%d log lines, want 1", n)
			}
		})
	}
}

// A declaration that cannot be read does not lift all limits: where nothing else
// limits the request it is refused, but where nothing may be refused.
func TestBadRouteMetadataNeverLeavesARouteUnlimited(t *testing.T) {
	bad := metadata(t, map[string]string{"routelimit": `{"route": "GET /a", "identity": "ip", "limt": 1, "window": "1m"}`})
	other := metadata(t, map[string]string{"other.filter": `{"a": 1}`})
	const limited = `{"identity": "ip", "limit": 5, "window": "1m"}`
	for name, c := range map[string]struct{ policy, want string }{
		"no configuration":         {`{}`, "503"},
		"default null":             {`{"default": null}`, "503"},
		"an unlimited default":     {`{"default": {"limits": []}}`, "503"},
		"an unlimited route":       {`{"routes": {"GET /a": {"limits": []}}, "default": ` + limited + `}`, "503"},
		"a shadow":                 {`{"default": {"identity": "ip", "limit": 5, "window": "1m", "shadow": true}}`, "503"},
		"a default":                {`{"default": ` + limited + `}`, "passed"},
		"a route":                  {`{"routes": {"GET /a": ` + limited + `}, "default": null}`, "passed"},
		"undeclared is refused":    {`{"undeclared": "refuse"}`, "404"},
		"nothing may be refused":   {`{"mode": "shadow", "default": null}`, "passed"},
		"nothing at all may occur": {`{"mode": "off", "default": null}`, "passed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, c.policy)
			s := r.on(bad, "/a")
			r.want(c.want, s)
			unavailable := uint64(0)
			if c.want == "503" {
				unavailable = 1
				if got := s.LocalReply(); string(got.Body) != `{"error":"rate_limiter_unavailable"}` || got.Details != "routelimit_unavailable{route_metadata}" {
					t.Errorf("%q, details %q", got.Body, got.Details)
				}
			}
			r.wantCounter(unavailable, r.requests("unreadable", "", "unavailable"), "unavailable")
			if c.want != "404" {
				r.want("passed", r.on(other, "/a"), "another route of Envoy's")
			}
		})
	}
}

func TestRouteMetadataWithABodyIdentity(t *testing.T) {
	r := onRedis(t, `{"identities": {"username": {"from": "body:username"}, "id": {"from": "path:id"}}, "routes": {}, "default": null}`)
	m := metadata(t, map[string]string{"routelimit": `{"route": "POST /m/:id", "identity": "username+id", "limit": 1, "window": "1m"}`})
	for i, want := range []string{"passed", "429"} {
		s := r.plugin.NewStream()
		s.SetProperty(m, "xds", "route_metadata")
		s.SendHeaders(hosttest.RequestHeaders("POST", "h", "/m/5", "content-type", jsonType), false)
		r.get(fmt.Sprint("/other/", i)) // another request in between
		s.SendBody([]byte(`{"username":"a"}`), true)
		r.deliver()
		r.want(want, s)
	}
	if diff := cmp.Diff([]string{"rl:{POST:/m/:id|username:a|id:5}"}, r.keys()); diff != "" {
		t.Error(diff)
	}
}

func TestG13_Preflights(t *testing.T) {
	preflight := []string{"origin", "https://a.example", "access-control-request-method", "GET"}
	const policy = `"routes": {"* /a": {"identity": "ip", "limit": 2, "window": "1m"}}, "default": null`
	r := onRedis(t, `{`+policy+`}`)
	for range 5 {
		r.want("passed", r.do("OPTIONS", "/a", "", preflight...))
	}
	r.want("passed", r.get("/a"))
	r.want("passed", r.do("OPTIONS", "/a", "", "origin", "https://a.example"), "a plain OPTIONS")
	r.want("429", r.get("/a"))
	r.want("passed", r.do("OPTIONS", "/a", "", preflight...), "a preflight over the limit")

	r = onRedis(t, `{"count_preflights": true, `+policy+`}`)
	r.want("passed", r.do("OPTIONS", "/a", "", preflight...))
	r.want("passed", r.do("OPTIONS", "/a", "", preflight...))
	r.want("429", r.do("OPTIONS", "/a", "", preflight...))
}

func TestG13_PreflightsPassWhereUndeclaredIsRefused(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"limits": []}}, "undeclared": "refuse"}`)
	r.want("passed", r.do("OPTIONS", "/a", "", "origin", "https://a.example", "access-control-request-method", "GET"))
	r.want("404", r.do("OPTIONS", "/a", ""))
}

func TestG13_HEADSpendsTheBucketOfGET(t *testing.T) {
	r := onRedis(t, `{"routes": {
		"GET /orders/:id": {"identity": "ip", "limit": 3, "window": "1m"},
		"GET /own":        {"identity": "ip", "limit": 3, "window": "1m"},
		"HEAD /own":       {"identity": "ip", "limit": 1, "window": "1m"}}, "default": null}`)
	r.want("passed", r.get("/orders/1"))
	r.want("passed", r.do("HEAD", "/orders/2", ""))
	r.want("passed", r.get("/orders/3"))
	s := r.do("HEAD", "/orders/4", "")
	r.want("429", s)
	if got := s.Client(); len(got.Body) != 0 || got.Headers.Get("retry-after") == "" {
		t.Errorf("HEAD got the body %q and %v", got.Body, got.Headers)
	}
	r.want("passed", r.do("HEAD", "/own", ""))
	r.want("429", r.do("HEAD", "/own", ""))
	r.want("passed", r.get("/own"))
	if got := r.count("rl:{GET:/orders/:id|ip:203.0.113.7}", "w60"); got != 3 {
		t.Errorf("%d count, want 3", got)
	}
}

func TestG13_TheMethodOverrideHeaderHasNoSay(t *testing.T) {
	r := onRedis(t, `{"routes": {"POST /a": {"identity": "ip", "limit": 1, "window": "1m"}}, "default": null}`)
	r.want("passed", r.do("POST", "/a", "", "x-http-method-override", "DELETE"))
	r.want("429", r.do("POST", "/a", "", "x-http-method-override", "GET"))
}

func TestModeOffTouchesNothing(t *testing.T) {
	r := onScript(t, nil, `{"mode": "off", "routes": {"GET /a": {"identity": "ip", "limit": 0, "window": "1m"}}, "default": null}`)
	s := r.get("/a")
	r.want("passed", s)
	respond(s, "200")
	if got := len(s.Client().Headers); got != 1 {
		t.Errorf("headers %v", s.Client().Headers)
	}
	if r.plugin.TickPeriod() != 0 || len(r.script.Streams()) != 0 {
		t.Error("mode off has a tick or a link")
	}
}

// G32: a changed limit holds at once, and what was used stays used.
func TestG32_AChangedLimitTakesEffectAtOnce(t *testing.T) {
	policy := func(fields string) string { return oneLimit(`"algorithm": "fixed_window", ` + fields) }
	r := onRedis(t, policy(`"limit": 10, "window": "1h"`))
	if got := r.passes(11); got != 10 {
		t.Fatalf("%d passed", got)
	}
	update := func(fields string, tries, want int) {
		t.Helper()
		old := r.plugin
		r.plugin = r.configure(policy(fields))
		if got := r.passes(tries); got != want {
			t.Errorf("%s: %d passed, want %d", fields, got, want)
		}
		old.Close()
	}
	update(`"limit": 20, "window": "1h"`, 11, 10)
	update(`"limit": 5, "window": "1h"`, 3, 0)
	s := r.get("/a")
	if got := s.Client().Headers.Get("x-ratelimit-remaining"); got != "0" {
		t.Errorf("remaining %s, want 0", got)
	}
	update(`"limit": 20, "window": "2h"`, 21, 20)
	update(`"limit": 21, "window": "1h"`, 3, 1)
	r.advance(time.Hour)
	update(`"limit": 21, "window": "1h"`, 22, 21)
}

// The most specific template wins in whatever order they are written, at every
// start of the plugin.
func TestG12_SixOrdersAndFiftyStartsGiveOneRoute(t *testing.T) {
	routes := []string{
		`"GET /users/:id": {"identity": "ip", "limit": 100, "window": "1m"}`,
		`"GET /users/me": {"identity": "ip", "limit": 2, "window": "1m"}`,
		`"GET /users/*": {"identity": "ip", "limit": 50, "window": "1m"}`,
	}
	r := onRedis(t, `{}`)
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		policy := fmt.Sprintf(`{"routes": {%s, %s, %s}, "default": null}`, routes[order[0]], routes[order[1]], routes[order[2]])
		for start := range 50 {
			if err := r.db.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			old := r.plugin
			r.plugin = r.configure(policy)
			old.Close()
			for i, want := range []string{"passed", "passed", "429"} {
				r.want(want, r.get("/users/me"), "order", order, "start", start, "request", i)
			}
			r.want("passed", r.get("/users/7"))
			r.want("passed", r.get("/users/7/posts"))
			want := []string{"rl:{GET:/users/*|ip:203.0.113.7}", "rl:{GET:/users/:id|ip:203.0.113.7}", "rl:{GET:/users/me|ip:203.0.113.7}"}
			if diff := cmp.Diff(want, r.keys()); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}
