//go:build !wasip1

package main_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hosttest "routelimit/host-test"
)

// byIP is a limit of 3 for each address, with a client section.
func byIP(client string) string {
	return fmt.Sprintf(`{%s "routes": {"GET /a": {"identity": "ip", "limit": 3, "window": "1m"}}, "default": null}`, client)
}

// forwarded is a GET /a with X-Forwarded-For lines, from a peer.
func (r *rig) forwarded(peer string, lines ...string) *hosttest.Stream {
	r.t.Helper()
	h := hosttest.RequestHeaders("GET", "api.example.com", "/a")
	for _, line := range lines {
		h = append(h, [2]string{"X-Forwarded-For", line})
	}
	s := r.plugin.NewStream()
	s.SetProperty([]byte(peer), "source", "address")
	s.SendHeaders(h, true)
	r.deliver()
	return s
}

// Three proxies of ours in front, as the docs work it: a CDN at 192.0.2.10
// appends the client, a load balancer at 192.0.2.20 appends the CDN, and this
// Envoy (use_remote_address) appends the load balancer. So the client is the
// third from the right.
func TestG01_G02_G03_ClientAddressByHops(t *testing.T) {
	const cdn, balancer = "192.0.2.10", "192.0.2.20"
	const peer = balancer + ":40000"
	for name, c := range map[string]struct {
		hops string // of the client section, "" for none
		peer string
		xff  []string
		want string // the identity in the key
	}{
		"three proxies":                 {"3", peer, []string{"203.0.113.7, " + cdn + ", " + balancer}, "ip:203.0.113.7"},
		"three proxies, several lines":  {"3", peer, []string{"203.0.113.7", cdn, balancer}, "ip:203.0.113.7"},
		"what the caller wrote first":   {"3", peer, []string{"198.51.100.1, 198.51.100.2", "203.0.113.7, " + cdn, balancer}, "ip:203.0.113.7"},
		"one hop":                       {"1", peer, []string{"198.51.100.9, 203.0.113.7"}, "ip:203.0.113.7"},
		"one hop, two lines":            {"1", peer, []string{"198.51.100.9", "203.0.113.7"}, "ip:203.0.113.7"},
		"a port":                        {"1", peer, []string{" 203.0.113.7:51999 "}, "ip:203.0.113.7"},
		"empty entries do not shift":    {"2", peer, []string{"198.51.100.9,,203.0.113.7,, " + balancer + ","}, "ip:203.0.113.7"},
		"IPv6 in brackets with a port":  {"1", peer, []string{"[2001:db8::7]:443"}, "ip:2001:db8::/64"},
		"IPv6 spelled out":              {"1", peer, []string{"2001:DB8:0::7"}, "ip:2001:db8::/64"},
		"IPv6, no port":                 {"1", peer, []string{"2001:db8::7:443"}, "ip:2001:db8::/64"},
		"IPv4 in IPv6":                  {"1", peer, []string{"::ffff:203.0.113.7"}, "ip:203.0.113.7"},
		"short chain: the peer":         {"3", peer, []string{"198.51.100.1"}, "ip:" + balancer},
		"short chain of two":            {"3", peer, []string{"198.51.100.1, 198.51.100.2"}, "ip:" + balancer},
		"no header: the peer":           {"1", peer, nil, "ip:" + balancer},
		"an empty header: the peer":     {"1", peer, []string{""}, "ip:" + balancer},
		"0 ignores the header":          {"0", peer, []string{"198.51.100.1"}, "ip:" + balancer},
		"not set: whom Envoy trusts":    {"", "203.0.113.7:0", []string{"198.51.100.1"}, "ip:203.0.113.7"},
		"garbage of a proxy: nobody":    {"1", peer, []string{"198.51.100.1, unknown"}, "ip:unknown"},
		"short chain, hidden peer":      {"2", "198.51.100.1:0", []string{"198.51.100.1"}, "ip:unknown"},
		"0, hidden peer":                {"0", "198.51.100.1:0", []string{"198.51.100.1"}, "ip:unknown"},
		"a unix socket":                 {"1", "/run/envoy.sock", nil, "ip:unknown"},
		"no address":                    {"", "", nil, "ip:unknown"},
		"IPv6 peer":                     {"", "[2001:db8:1:2::3]:40000", nil, "ip:2001:db8:1:2::/64"},
		"IPv6 peer with a zone":         {"", "[fe80::1%eth0]:40000", nil, "ip:fe80::/64"},
		"whole IPv6 addresses if asked": {`0, "ipv6_prefix": 128`, "[2001:db8:1:2::3]:40000", nil, "ip:2001:db8:1:2::3"},
	} {
		t.Run(name, func(t *testing.T) {
			section := ""
			if c.hops != "" {
				section = fmt.Sprintf(`"client": {"trusted_hops": %s},`, c.hops)
			}
			r := onRedis(t, byIP(section))
			for range 3 {
				r.want("passed", r.forwarded(c.peer, c.xff...))
			}
			r.want("429", r.forwarded(c.peer, c.xff...), "the 4th")
			if diff := cmp.Diff([]string{"rl:{GET:/a|" + c.want + "}"}, r.keys()); diff != "" {
				t.Error(diff)
			}
			nobody := uint64(0)
			if c.want == "ip:unknown" {
				nobody = 4
			}
			r.wantCounter(nobody, r.counter("routelimit_identity_total", "kind", "no_identity"), "no_identity")
		})
	}
}

func TestG02_RotatingTheCallersPartBuysNothing(t *testing.T) {
	r := onRedis(t, byIP(`"client": {"trusted_hops": 1},`))
	for i := range 3 {
		r.want("passed", r.forwarded("192.0.2.1:1", fmt.Sprintf("198.51.100.%d, 203.0.113.7", i)))
	}
	r.want("429", r.forwarded("192.0.2.1:1", "198.51.100.77", "203.0.113.7"))
}

func TestG04_OneIPv6NetworkIsOneCaller(t *testing.T) {
	r := onRedis(t, byIP(""))
	for i := 1; i <= 3; i++ {
		r.want("passed", r.forwarded(fmt.Sprintf("[2001:db8:1:2::%d]:1", i)))
	}
	r.want("429", r.forwarded("[2001:db8:1:2::4]:1"))
	r.want("passed", r.forwarded("[2001:db8:1:3::1]:1"))
}

func TestG05_NoAddressSharesOneBucketAndADefaultIdComesFirst(t *testing.T) {
	r := onRedis(t, `{"identities": {"tenant": {"from": "header:x-tenant"}},
		"routes": {"GET /a": {"identity": "tenant|ip", "limit": 3, "window": "1m"}}, "default": null}`)
	unknown := func(lines ...string) *hosttest.Stream {
		s := r.plugin.NewStream()
		s.FailProperty(1, "source", "address")
		s.SendHeaders(hosttest.RequestHeaders("GET", "", "/a", lines...), true)
		r.deliver()
		return s
	}
	for range 3 {
		r.want("passed", unknown("x-tenant", ""))
	}
	r.want("429", unknown())
	r.want("passed", unknown("x-tenant", "t1"))
	if diff := cmp.Diff([]string{"rl:{GET:/a|ip:unknown}", "rl:{GET:/a|tenant:t1}"}, r.keys()); diff != "" {
		t.Error(diff)
	}
}

const login = `{
	"identities": {"username": {"from": "body:username", "fold": true, "secret": true}},
	"routes": {"POST /login": {"identity": "username", "limit": 100, "window": "1m"}}, "default": null}`

const jsonType = "application/json"

func (r *rig) login(body string, lines ...string) *hosttest.Stream {
	r.t.Helper()
	return r.do("POST", "/login", body, append([]string{"content-type", jsonType}, lines...)...)
}

func TestG06_OneAccountIsOneBucketHoweverItIsSpelled(t *testing.T) {
	for name, c := range map[string]struct {
		bodies []string
		keys   int
		key    string // the only one, or "" where they name users
	}{
		"trimmed and lower-cased":    {[]string{`{"username":"alice"}`, `{"username":" alice "}`, `{"username":"ALICE\t"}`, `{"username":"\u0061lice"}`, `{"username":"Alice\u00a0"}`}, 1, ""},
		"composed and decomposed":    {[]string{`{"username":"é"}`, `{"username":"e\u0301"}`, `{"username":"É"}`}, 1, ""},
		"full width":                 {[]string{`{"username":"alice"}`, `{"username":"ａｌｉｃｅ"}`}, 1, ""},
		"others are others":          {[]string{`{"username":"alice"}`, `{"username":"alice2"}`, `{"username":"a lice"}`}, 3, ""},
		"no names":                   {[]string{`{"username":""}`, `{"username":"  "}`, `{"username":null}`, `{"user":"alice"}`}, 1, ipKey},
		"what may be made a name":    {[]string{`{"username":["alice"]}`, `{"username":true}`, `{"username":7}`, `{"username":7.5}`}, 1, unreadKey},
		"bytes that are no UTF-8":    {[]string{"{\"username\":\"\xff\xfe\"}", "{\"username\":\"a\x80\"}"}, 2, ""},
		"repeated is ambiguous":      {[]string{`{"username":"a","username":"b"}`, `{"username":"a","Username":"b"}`, `{"username":"a","\u0075sername":"b"}`}, 1, unreadKey},
		"a trailing text is no JSON": {[]string{`{"username":"a"} x`, `{"username":"a"`}, 1, unreadKey},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, login)
			for _, body := range c.bodies {
				r.want("passed", r.login(body), body)
			}
			keys := r.keys()
			if len(keys) != c.keys {
				t.Fatalf("%d keys, want %d: %v", len(keys), c.keys, keys)
			}
			for _, key := range keys {
				named := strings.HasPrefix(key, "rl:{POST:/login|username:") && key != unreadKey
				if c.key == "" && !named || c.key != "" && key != c.key {
					t.Errorf("key %q, want %q or, without one, a user's", key, c.key)
				}
			}
		})
	}
}

// everythingShown is all that an operator can see of a rig: keys and values of
// Redis, log lines, names of metrics, filter states and details of requests.
func (r *rig) everythingShown(streams ...*hosttest.Stream) string {
	var b strings.Builder
	ctx := context.Background()
	for _, key := range r.keys() {
		fmt.Fprintln(&b, key, r.db.HGetAll(ctx, key).Val())
	}
	fmt.Fprintln(&b, r.vm.LogText(), r.host.Metrics())
	for _, s := range streams {
		fmt.Fprintln(&b, s.FilterState(), s.Details(), s.Client().Headers, string(s.Client().Body))
	}
	return b.String()
}

func TestG08_SecretsShowNowhere(t *testing.T) {
	const user, key, password = "Alice.Example", "live_AAAAAAAA1", "hunter2"
	for _, logs := range []string{"plain", "hashed", "none"} {
		t.Run(logs, func(t *testing.T) {
			r := onRedis(t, `{"log": {"identity": "`+logs+`"},
				"identities": {
					"api_key":  {"from": "header:x-api-key", "secret": true},
					"username": {"from": "body:username", "fold": true, "secret": true}},
				"routes": {"POST /login": {"limits": [
					{"identity": "username", "limit": 1, "window": "1m"},
					{"identity": "api_key", "limit": 1, "window": "1m"},
					{"identity": "ip+username", "limit": 1, "window": "1m", "shadow": true}]}}, "default": null}`)
			body := `{"username":"` + user + `","password":"` + password + `"}`
			passed := r.login(body, "x-api-key", key)
			r.want("passed", passed)
			respond(passed, "200")
			refused := r.login(body, "x-api-key", key)
			r.want("429", refused)

			shown := r.everythingShown(passed, refused)
			for _, secret := range []string{user, strings.ToLower(user), "alice", "live_", key, password} {
				if strings.Contains(shown, secret) {
					t.Errorf("%q shows in\n%s", secret, shown)
				}
			}
			if logs == "none" && strings.Contains(r.vm.LogText(), "identity") {
				t.Errorf("an identity is logged:\n%s", r.vm.LogText())
			}
			if logs == "hashed" && strings.Contains(r.vm.LogText(), "username:") {
				t.Errorf("an identity is logged as it stands in the key:\n%s", r.vm.LogText())
			}
		})
	}
}

// A secret under a key of the environment has another hash than without.
func TestHashKeyComesFromTheEnvironment(t *testing.T) {
	policy := strings.Replace(login, `{`, `{"hash_key_env": "HASH_KEY",`, 1)
	keys := map[string]bool{}
	for _, value := range []string{strings.Repeat("1", 16), strings.Repeat("2", 16)} {
		s, err := server()
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, clock: hosttest.NewClock(), db: s.Client()}
		r.db.FlushAll(t.Context())
		r.redis = hosttest.NewRedis(s.Addr(), hosttest.RedisOptions{VirtualTime: r.clock})
		t.Cleanup(r.redis.Close)
		r.start(nil, hosttest.Options{Environment: map[string]string{"HASH_KEY": value}}, r.redis, policy)
		r.want("passed", r.login(`{"username":"alice"}`))
		keys[r.keys()[0]] = true
	}
	if len(keys) != 2 {
		t.Errorf("keys %v; the key of the environment changes nothing", keys)
	}
}

func TestG08_DifferentCallersNeverShareAKey(t *testing.T) {
	r := onRedis(t, `{"identities": {"user": {"from": "header:x-user"}, "part": {"from": "header:x-part"}},
		"routes": {"GET /a": {"identity": "user+part|user|ip", "limit": 100, "window": "1m"},
		           "GET /a/:id": {"identity": "user|ip", "limit": 100, "window": "1m"}}, "default": null}`)
	requests := [][]string{
		{"/a"}, // ip:203.0.113.7
		{"/a", "x-user", "203.0.113.7"},
		{"/a", "x-user", "ip:203.0.113.7"},
		{"/a", "x-user", "a:b", "x-part", "c"},
		{"/a", "x-user", "a", "x-part", "b:c"},
		{"/a", "x-user", "a|part:b", "x-part", "c"},
		{"/a", "x-user", "a", "x-part", "b|part:c"},
		{"/a", "x-user", "a%7C", "x-part", "c"},
		{"/a", "x-user", "a|", "x-part", "c"},
		{"/a", "x-user", "x}"}, {"/a", "x-user", "x"}, {"/a", "x-user", "{x"},
		{"/a", "x-user", "live_AAAAAAAA1"}, {"/a", "x-user", "live_AAAAAAAA2"},
		{"/a", "x-user", strings.Repeat("k", 60_000) + "1"}, {"/a", "x-user", strings.Repeat("k", 60_000) + "2"},
		{"/a/5"},
		{"/a/5", "x-user", "203.0.113.7"},
		{"/a", "x-user", "\xff"}, {"/a", "x-user", "\xfe"}, {"/a", "x-user", "é"},
	}
	for _, request := range requests {
		r.want("passed", r.get(request[0], request[1:]...), request[0])
	}
	keys := r.keys()
	if len(keys) != len(requests) {
		t.Errorf("%d keys for %d callers: %q", len(keys), len(requests), keys)
	}
	for _, key := range keys {
		odd := strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' })
		if odd || len(key) > 400 || strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
			t.Errorf("key %q", key)
		}
	}
}

func TestG11_RoutesKeepSeparateKeysAndParametersDoNot(t *testing.T) {
	r := onRedis(t, `{"routes": {
		"GET /orders/:id": {"identity": "ip", "limit": 3, "window": "1m"},
		"POST /orders":    {"identity": "ip", "limit": 3, "window": "1m"},
		"GET api.example.com/orders": {"identity": "ip", "limit": 3, "window": "1m"},
		"GET /x/:id": {"identity": "ip", "limit": 3, "window": "1m", "bucket": "shared"},
		"GET /y/*":   {"identity": "ip", "limit": 3, "window": "1m", "bucket": "shared"}},
		"default": {"identity": "ip", "limit": 3, "window": "1m"}}`)
	for i := range 3 {
		r.want("passed", r.get(fmt.Sprintf("/orders/%d", i)))
		r.want("passed", r.do("POST", "/orders", ""))
		r.want("passed", r.get("/orders"))
		r.want("passed", r.get(fmt.Sprintf("/elsewhere/%d", i)))
	}
	r.want("passed", r.get("/x/1"))
	r.want("passed", r.get("/y/1/2"))
	r.want("passed", r.get("/x/2"))
	for _, path := range []string{"/orders/9", "/orders", "/somewhere", "/x/3", "/y/3"} {
		r.want("429", r.get(path), path)
	}
	want := []string{
		"rl:{GET:/orders/:id|ip:203.0.113.7}", "rl:{POST:/orders|ip:203.0.113.7}",
		"rl:{api.example.com:GET:/orders|ip:203.0.113.7}", "rl:{bucket:shared|ip:203.0.113.7}", "rl:{default|ip:203.0.113.7}",
	}
	if diff := cmp.Diff(want, r.keys()); diff != "" {
		t.Error(diff)
	}
}

func TestG09_G10_SpellingsOfAPathAreOneRoute(t *testing.T) {
	for name, c := range map[string]struct {
		route string
		paths []string
		key   string
	}{
		"login":  {"GET /login", []string{"/login", "/login/", "//login", "/login?x=1", "/./login", "/x/../login", "/%6Cogin", "/%6cogin"}, "rl:{GET:/login|ip:203.0.113.7}"},
		"orders": {"GET /orders/:id", []string{"/orders/5", "/orders%2F5", "/orders%2f5", "/orders/a%2Fb", "/orders/%252e%252e", "/orders/5%", "/orders/%zz"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, `{"routes": {"`+c.route+`": {"identity": "ip", "limit": 100, "window": "1m"}},
				"default": {"identity": "ip", "limit": 100, "window": "1m"}}`)
			for _, path := range c.paths {
				r.want("passed", r.get(path), path)
			}
			total := 0
			for _, key := range r.keys() {
				total += r.count(key, "w60")
			}
			if total != len(c.paths) {
				t.Errorf("%d of %d requests counted", total, len(c.paths))
			}
			if c.key != "" && !slices.Equal(r.keys(), []string{c.key}) {
				t.Errorf("keys %v, want %s alone", r.keys(), c.key)
			}
		})
	}
}

// What else an identity can be read from.
func TestSourcesOfIdentities(t *testing.T) {
	number := binary.LittleEndian.AppendUint64(nil, 0x4045000000000000) // 42.0
	for name, c := range map[string]struct {
		from, path string
		lines      []string
		property   []byte
		want       string
	}{
		"a cookie":            {"cookie:sid", "/u/7", []string{"cookie", "a=1; sid=s1"}, nil, "x:s1"},
		"a query parameter":   {"query:key", "/u/7?a=1&key=k%31", nil, nil, "x:k1"},
		"a path parameter":    {"path:id", "/u/%37", nil, nil, "x:7"},
		"a claim":             {"metadata:envoy.filters.http.jwt_authn/payload/sub", "/u/7", nil, []byte("alice"), "x:alice"},
		"a number in a claim": {"metadata:envoy.filters.http.jwt_authn/payload/sub", "/u/7", nil, number, "x:42"},
		"an empty claim":      {"metadata:envoy.filters.http.jwt_authn/payload/sub", "/u/7", nil, []byte{}, "ip:203.0.113.7"},
		"two header lines":    {"header:x-id", "/u/7", []string{"x-id", "1", "x-id", "2"}, nil, "ip:203.0.113.7"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, `{"identities": {"x": {"from": "`+c.from+`"}},
				"routes": {"GET /u/:id": {"identity": "x", "limit": 5, "window": "1m"}}, "default": null}`)
			s := r.plugin.NewStream()
			s.SetProperty([]byte(client), "source", "address")
			if c.property != nil {
				s.SetProperty(c.property, "metadata", "filter_metadata", "envoy.filters.http.jwt_authn", "payload", "sub")
			}
			s.SendHeaders(hosttest.RequestHeaders("GET", "h", c.path, c.lines...), true)
			r.deliver()
			r.want("passed", s)
			if diff := cmp.Diff([]string{"rl:{GET:/u/:id|" + c.want + "}"}, r.keys()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A made-up key buys no quota where the address has a limit beside it.
func TestG07_AnUnverifiedKeyDoesNotGoAroundTheAddress(t *testing.T) {
	r := onRedis(t, `{"identities": {"api_key": {"from": "header:x-api-key", "secret": true}},
		"routes": {"GET /a": {"limits": [
			{"identity": "api_key", "limit": 3, "window": "1m"}, {"identity": "ip", "limit": 10, "window": "1m"}]}}, "default": null}`)
	passed := 0
	for i := range 30 {
		if fate(r.get("/a", "x-api-key", fmt.Sprint("r", i))) == "passed" {
			passed++
		}
	}
	if passed != 10 {
		t.Errorf("%d of 30 passed, want 10", passed)
	}
}
