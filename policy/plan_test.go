package policy

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/limit"
	"routelimit/policy/identity"
)

const orders = `{"identities": {"user_id": {"from": "header:x-user"}, "tenant": {"from": "header:x-tenant"}},
  "routes": {"GET /orders/:id": {"limits": [%s]}}, "default": null}`

func TestPlanGroupsLimitsByKey(t *testing.T) {
	for name, c := range map[string]struct {
		limits string
		attrs  *fakeRequest
		want   map[string][]string
	}{
		"one identity, one group": {
			`{"name": "a", "identity": "ip", "limit": 1, "window": "1s"}, {"name": "b", "identity": "ip", "limit": 9, "window": "1m"}`,
			from("203.0.113.7"),
			map[string][]string{"rl:{GET:/orders/:id|ip:203.0.113.7}": {"a", "b"}},
		},
		"two identities, two groups": {
			`{"name": "a", "identity": "ip", "limit": 1, "window": "1s"}, {"name": "b", "identity": "all", "limit": 9, "window": "1m"}`,
			from("203.0.113.7"),
			map[string][]string{"rl:{GET:/orders/:id|ip:203.0.113.7}": {"a"}, "rl:{GET:/orders/:id|all}": {"b"}},
		},
		"two expressions that come to one key": {
			`{"name": "a", "identity": "user_id|ip", "limit": 1, "window": "1s"}, {"name": "b", "identity": "all", "limit": 9, "window": "1m"}, {"name": "c", "identity": "ip", "limit": 9, "window": "1m"}`,
			from("203.0.113.7"),
			map[string][]string{"rl:{GET:/orders/:id|ip:203.0.113.7}": {"a", "c"}, "rl:{GET:/orders/:id|all}": {"b"}},
		},
		"and to two, where the user is known": {
			`{"name": "a", "identity": "user_id|ip", "limit": 1, "window": "1s"}, {"name": "c", "identity": "ip", "limit": 9, "window": "1m"}`,
			from("203.0.113.7", "x-user", "203.0.113.7"),
			map[string][]string{"rl:{GET:/orders/:id|user_id:203.0.113.7}": {"a"}, "rl:{GET:/orders/:id|ip:203.0.113.7}": {"c"}},
		},
		"a bucket has a key of its own": {
			`{"name": "a", "identity": "ip", "limit": 1, "window": "1s", "bucket": "shared"}, {"name": "b", "identity": "ip", "limit": 9, "window": "1m"}, {"name": "c", "identity": "ip", "limit": 9, "window": "1h", "bucket": "shared"}`,
			from("203.0.113.7"),
			map[string][]string{"rl:{bucket:shared|ip:203.0.113.7}": {"a", "c"}, "rl:{GET:/orders/:id|ip:203.0.113.7}": {"b"}},
		},
		"composite identity": {
			`{"name": "a", "identity": "ip+user_id+tenant", "limit": 1, "window": "1s"}`,
			from("203.0.113.7", "x-user", "u{1}", "x-tenant", "t|2"),
			map[string][]string{"rl:{GET:/orders/:id|ip:203.0.113.7|user_id:u%7B1%7D|tenant:t%7C2}": {"a"}},
		},
		"shadow limits stay in their group": {
			`{"name": "a", "identity": "ip", "limit": 1, "window": "1s"}, {"name": "b", "identity": "ip", "limit": 9, "window": "1m", "shadow": true}`,
			from("203.0.113.7"),
			map[string][]string{"rl:{GET:/orders/:id|ip:203.0.113.7}": {"a", "b"}},
		},
		"no limits, no groups": {``, from("203.0.113.7"), map[string][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustParse(t, fmt.Sprintf(orders, c.limits))
			got := planOf(p, "GET", "/orders/7", c.attrs, "").shape()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanTellsIdentityAndCharges(t *testing.T) {
	p := mustParse(t, fmt.Sprintf(orders, `{"identity": "user_id|ip", "limit": 10, "window": "1m", "cost": 3}, {"identity": "ip", "limit": 20, "window": "1m"}`))
	plan := planOf(p, "GET", "/orders/7", from("203.0.113.7"), "")
	if len(plan.Groups) != 1 {
		t.Fatalf("%d groups, want one", len(plan.Groups))
	}
	g := &plan.Groups[0]
	if got := string(g.Identity()); got != "ip:203.0.113.7" {
		t.Errorf("identity %s", got)
	}
	if diff := cmp.Diff([]string{"ip", "ip"}, g.IdentityUsed); diff != "" {
		t.Error(diff)
	}
	limits := p.Routes[0].Limits
	want := []limit.Charge{limit.NewCharge(&limits[0].Limit, 3), limit.NewCharge(&limits[1].Limit, 1)}
	for i := range want {
		if g.Charges[i] != want[i] {
			t.Errorf("charge %d: got %+v, want %+v", i, g.Charges[i], want[i])
		}
	}
}

func TestPlanNotesWhatWasOdd(t *testing.T) {
	p := mustParse(t, fmt.Sprintf(orders, `{"identity": "user_id", "limit": 10, "window": "1m"}`))
	for name, c := range map[string]struct {
		attrs *fakeRequest
		want  identity.Noted
	}{
		"nothing odd":     {from("203.0.113.7", "x-user", "u1"), 0},
		"no user":         {from("203.0.113.7"), identity.NoIdentity},
		"user twice":      {from("203.0.113.7", "x-user", "u1", "x-user", "u2"), identity.NoIdentity | identity.Ambiguous},
		"nobody at all":   {from(""), identity.NoIdentity},
		"only an address": {from("203.0.113.7", "x-user", ""), identity.NoIdentity},
	} {
		req := requestOf(c.attrs, nil, "")
		p.Routes[0].Plan(req, new(Plan))
		if req.Noted != c.want {
			t.Errorf("%s: noted %b, want %b", name, req.Noted, c.want)
		}
	}
}

func TestWithoutClientTheAddressIsTheOneThatEnvoyTrusts(t *testing.T) {
	byAddress := `"identity": "ip", "limit": 1, "window": "1m"`
	metadata := metadataOf(t, map[string]map[string]any{"routelimit": {"route": "GET /x", "identity": "ip", "limit": 1, "window": "1m"}})
	unset, err := mustParse(t, "").FromRouteMetadata(metadata)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		route *Route
		want  string
	}{
		"no configuration":    {unset, "ip:203.0.113.7"},
		"no client":           {mustParse(t, `{"default": {`+byAddress+`}}`).Default, "ip:203.0.113.7"},
		"client without hops": {mustParse(t, `{"client": {"ipv6_prefix": 56}, "default": {`+byAddress+`}}`).Default, "ip:203.0.113.7"},
		"no hops":             {mustParse(t, `{"client": {"trusted_hops": 0}, "default": {`+byAddress+`}}`).Default, "ip:unknown"},
	} {
		// Port 0: Envoy took the address from X-Forwarded-For.
		attrs := from("")
		attrs.properties["source\x00address"] = "203.0.113.7:0"
		plan := new(Plan)
		c.route.Plan(requestOf(attrs, nil, ""), plan)
		if got := string(plan.Groups[0].Identity()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPlanUsedAgainIsLikeNew(t *testing.T) {
	p := mustParse(t, fmt.Sprintf(orders, `{"name": "a", "identity": "user_id|ip", "limit": 1, "window": "1s"}, {"name": "b", "identity": "ip", "limit": 9, "window": "1m"}, {"name": "c", "identity": "all", "limit": 9, "window": "1m"}`))
	used := new(Plan)
	for _, attrs := range []*fakeRequest{from("203.0.113.7", "x-user", "u"), from("203.0.113.7"), from("", "x-user", "u"), from("2001:db8::7", "x-user", "longer")} {
		fresh := new(Plan)
		p.Routes[0].Plan(requestOf(attrs, nil, ""), fresh)
		p.Routes[0].Plan(requestOf(attrs, nil, ""), used)
		if diff := cmp.Diff(fresh.shape(), used.shape()); diff != "" {
			t.Error(diff)
		}
	}
	new(Route).Plan(requestOf(from(""), nil, ""), used)
	if len(used.Groups) != 0 {
		t.Errorf("%d groups left over", len(used.Groups))
	}
}

func TestMatchAndPlanDoNotAllocate(t *testing.T) {
	raw, err := os.ReadFile("testdata/good/readme.json")
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, string(raw))
	for name, c := range map[string]struct {
		method, path, body string
		attrs              *fakeRequest
	}{
		"login":          {"POST", "//login/?x=1", `{"username": " Alice ", "password": "x"}`, from("203.0.113.7", "content-type", "application/json", "x-forwarded-for", "203.0.113.7")},
		"search":         {"GET", "/api/search?q=x", "", from("203.0.113.7", "x-api-key", "live_AAAAAAAA1", "x-forwarded-for", "203.0.113.7")},
		"default":        {"GET", "/anything/%41", "", from("203.0.113.7", "x-forwarded-for", "198.51.100.1, 203.0.113.7")},
		"without a user": {"POST", "/orders", "", from("203.0.113.7")},
	} {
		t.Run(name, func(t *testing.T) {
			var (
				m    Matched
				plan Plan
				body = identity.Body{Bytes: []byte(c.body), Complete: true}
				req  identity.Request
			)
			properties := preallocated{c.attrs, map[string][]byte{}}
			for path, value := range c.attrs.properties {
				properties.values[path] = []byte(value)
			}
			allocations := testing.AllocsPerRun(100, func() {
				r := p.Match(c.method, "api.example.com:443", c.path, &m)
				req = identity.Request{Attrs: &properties, Body: &body, Params: m.Params}
				if !r.IsExempt(&req) {
					r.Plan(&req, &plan)
				}
			})
			if allocations != 0 {
				t.Errorf("%v allocations, want none", allocations)
			}
			if len(plan.Groups) == 0 || !bytes.HasPrefix(plan.Groups[0].Key, []byte("rl:{")) {
				t.Errorf("planned %v", plan.shape())
			}
		})
	}
}

// preallocated answers properties without a copy.
type preallocated struct {
	*fakeRequest
	values map[string][]byte
}

func (p *preallocated) Property(path string) ([]byte, bool) {
	value, ok := p.values[path]
	return value, ok
}

func TestDefaultPerEnvoyRouteHasBucketsForEach(t *testing.T) {
	p := mustParse(t, `{"default": {"identity": "ip", "limit": 10, "window": "1m", "per": "envoy_route"}}`)
	for name, want := range map[string]string{
		"search":       "rl:{default/search|ip:203.0.113.7}",
		"":             "rl:{default/|ip:203.0.113.7}",
		"a|b}c":        "rl:{default/a%7Cb%7Dc|ip:203.0.113.7}",
		"GET:/orders/": "rl:{default/GET:/orders/|ip:203.0.113.7}",
	} {
		attrs := from("203.0.113.7")
		attrs.properties["xds\x00route_name"] = name
		plan := planOf(p, "GET", "/x", attrs, "")
		if got := string(plan.Groups[0].Key); got != want {
			t.Errorf("route %q: key %s, want %s", name, got, want)
		}
		if got := string(plan.Groups[0].Identity()); got != "ip:203.0.113.7" {
			t.Errorf("route %q: identity %s", name, got)
		}
	}
}

func TestExemptAddressesAreThoseOfTheClient(t *testing.T) {
	p := mustParse(t, `{"client": {"trusted_hops": 1}, "default": {"identity": "ip", "limit": 10, "window": "1m",
		"exempt": ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::ffff:198.51.100.1"]}}`)
	for client, want := range map[string]bool{
		"10.1.2.3": true, "192.0.2.7": true, "192.0.2.8": false, "2001:db8:1::1": true, "2001:db9::1": false, "198.51.100.1": true,
		"::ffff:10.1.2.3": true, "11.0.0.1": false,
	} {
		req := requestOf(from("203.0.113.200", "x-forwarded-for", "10.0.0.1, "+client), nil, "")
		if got := p.Default.IsExempt(req); got != want {
			t.Errorf("%s: exempt %v, want %v", client, got, want)
		}
	}
	if p.Default.IsExempt(requestOf(from(""), nil, "")) {
		t.Error("a client without an address is exempt")
	}
}

func TestShadowModeMakesEveryLimitAShadow(t *testing.T) {
	limits := `"limits": [{"name": "a", "identity": "ip", "limit": 0, "window": "1m"}, {"name": "b", "identity": "all", "limit": 1, "window": "1m", "shadow": true}]`
	for mode, want := range map[string][]bool{"enforce": {false, true}, "shadow": {true, true}} {
		p := mustParse(t, `{"mode": "`+mode+`", "default": {`+limits+`}}`)
		for i, l := range p.Default.Limits {
			if l.Shadow != want[i] {
				t.Errorf("%s, limit %s: shadow %v, want %v", mode, l.Name, l.Shadow, want[i])
			}
		}
		if blocked := p.Default.Blocked != nil; blocked != (mode == "enforce") {
			t.Errorf("%s: blocked %v", mode, blocked)
		}
	}
}

func TestKeysOfDifferentPlacesNeverMeet(t *testing.T) {
	one := `{"identity": "%s", "limit": 1, "window": "1m"%s}`
	p := mustParse(t, `{"identities": {"id": {"from": "header:x-id"}}, "routes": {
		"GET /a":          `+fmt.Sprintf(one, "ip", "")+`,
		"GET /:a":         `+fmt.Sprintf(one, "ip", "")+`,
		"GET /%3Aa":       `+fmt.Sprintf(one, "ip", "")+`,
		"* /a":            `+fmt.Sprintf(one, "ip", "")+`,
		"GET bucket/a":    `+fmt.Sprintf(one, "ip", "")+`,
		"GET default/a":   `+fmt.Sprintf(one, "ip", "")+`,
		"GET /bucket":     `+fmt.Sprintf(one, "ip", `, "bucket": "GET"`)+`,
		"GET /bucket2":    `+fmt.Sprintf(one, "ip", `, "bucket": "default"`)+`,
		"GET /a%7Cip%3A1": `+fmt.Sprintf(one, "ip", "")+`
	}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`)
	seen := map[string]string{}
	for _, r := range append(p.Routes, p.Default) {
		plan := new(Plan)
		r.Plan(requestOf(from("203.0.113.7"), nil, ""), plan)
		key := string(plan.Groups[0].Key)
		if seen[key] != "" {
			t.Errorf("%s and %s have the key %s", seen[key], r.Template, key)
		}
		seen[key] = "route " + r.Template
		if strings.Count(key, "{") != 1 || !strings.HasSuffix(key, "}") || strings.ContainsAny(key, " \"\\") {
			t.Errorf("%s: key %q", r.Template, key)
		}
	}
}

func TestCountSaysWhichResponsesStayCounted(t *testing.T) {
	p := mustParse(t, `{"default": {"limits": [{"name": "all", "identity": "ip", "limit": 1, "window": "1m"}, {"name": "failures", "identity": "ip", "limit": 1, "window": "1m", "count": [401, 403]}]}}`)
	for status, want := range map[int][2]bool{200: {true, false}, 401: {true, true}, 403: {true, true}, 404: {true, false}} {
		if got := [2]bool{p.Default.Limits[0].Counts(status), p.Default.Limits[1].Counts(status)}; got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}
