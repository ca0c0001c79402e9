package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/policy/route"
)

const one = `{"identity": "ip", "limit": 3, "window": "1m"}`

func keyOf(r *Route) string {
	if r == nil {
		return "none"
	}
	return r.Key
}

func TestG09_EverySpellingOfLoginHasOneKey(t *testing.T) {
	p := mustParse(t, `{"routes": {"POST /login": `+one+`}, "default": null}`)
	for _, path := range []string{"/login", "/login/", "//login", "/login?x=1", "/./login", "/x/../login", "/%6Cogin", "/%6cogin", `\login`} {
		want := map[string][]string{"rl:{POST:/login|ip:203.0.113.7}": {"ip"}}
		if diff := cmp.Diff(want, planOf(p, "POST", path, from("203.0.113.7"), "").shape()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if got := p.Match("POST", "", "/LOGIN", new(Matched)); got != nil {
		t.Errorf("letter case does not matter by default: /LOGIN is %s", got.Key)
	}
}

func TestG09_LetterCaseIsIgnoredWhereConfigured(t *testing.T) {
	p := mustParse(t, `{"ignore_path_case": true, "routes": {"POST /Login/:User": `+one+`}, "default": null}`)
	for _, path := range []string{"/login/a", "/LOGIN/A", "/lOgIn/a/", "/%4Cogin/A"} {
		var m Matched
		if got := keyOf(p.Match("POST", "", path, &m)); got != "POST:/login/:User" {
			t.Errorf("%s is %s", path, got)
		} else if diff := cmp.Diff([]route.Param{{Name: "User", Value: "a"}}, m.Params); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestG10_EveryReadingOfAnEscapeLandsInAPolicy(t *testing.T) {
	p := mustParse(t, `{"routes": {"GET /orders/:id": `+one+`}, "default": `+one+`}`)
	for path, want := range map[string]string{
		"/orders%2F5": "default", "/orders%2f5": "default", "/orders/%252e%252e/x": "default",
		"/orders/a%2Fb": "GET:/orders/:id", "/orders/5%": "GET:/orders/:id", "/orders/%zz": "GET:/orders/:id", `/orders\5`: "GET:/orders/:id",
	} {
		if got := keyOf(p.Match("GET", "", path, new(Matched))); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestG11_ParametersAreNotPartOfTheKey(t *testing.T) {
	p := mustParse(t, `{"routes": {"GET /orders/:id": `+one+`}, "default": null}`)
	keys := map[string]bool{}
	for i := 1; i <= 10; i++ {
		for key := range planOf(p, "GET", fmt.Sprintf("/orders/%d", i), from("203.0.113.7"), "").shape() {
			keys[key] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{"rl:{GET:/orders/:id|ip:203.0.113.7}": true}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestG12_TheOrderInTheFileDoesNotMatter(t *testing.T) {
	routes := []string{`"GET /users/:id": ` + one, `"GET /users/me": ` + one, `"GET /users/*": ` + one}
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		raw := `{"routes": {` + routes[order[0]] + "," + routes[order[1]] + "," + routes[order[2]] + `}, "default": null}`
		for range 50 {
			p := mustParse(t, raw)
			for path, want := range map[string]string{"/users/me": "GET:/users/me", "/users/7": "GET:/users/:id", "/users/7/x": "GET:/users/*"} {
				if got := keyOf(p.Match("GET", "", path, new(Matched))); got != want {
					t.Fatalf("order %v: %s is %s, want %s", order, path, got, want)
				}
			}
		}
	}
}

func TestG13_HeadIsGetAndOverridesAreIgnored(t *testing.T) {
	p := mustParse(t, `{"routes": {"GET /orders/:id": `+one+`, "HEAD /own": `+one+`, "GET /own": `+one+`, "DELETE /orders/:id": `+one+`}, "default": `+one+`}`)
	for _, c := range []struct{ method, path, want string }{
		{"HEAD", "/orders/7", "rl:{GET:/orders/:id|ip:203.0.113.7}"},
		{"GET", "/orders/7", "rl:{GET:/orders/:id|ip:203.0.113.7}"},
		{"HEAD", "/own", "rl:{HEAD:/own|ip:203.0.113.7}"},
		{"POST", "/orders/7", "rl:{default|ip:203.0.113.7}"},
		{"OPTIONS", "/orders/7", "rl:{default|ip:203.0.113.7}"},
	} {
		attrs := from("203.0.113.7", ":method", c.method, "x-http-method-override", "DELETE")
		plan := planOf(p, c.method, c.path, attrs, "")
		if got := string(plan.Groups[0].Key); got != c.want {
			t.Errorf("%s %s: key %s, want %s", c.method, c.path, got, c.want)
		}
	}
}

func TestG13_OnlyPreflightsArePreflights(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    bool
	}{
		"preflight":            {[]string{":method", "OPTIONS", "origin", "https://a", "access-control-request-method", "PUT"}, true},
		"plain OPTIONS":        {[]string{":method", "OPTIONS"}, false},
		"OPTIONS with origin":  {[]string{":method", "OPTIONS", "origin", "https://a"}, false},
		"without origin":       {[]string{":method", "OPTIONS", "access-control-request-method", "PUT"}, false},
		"GET dressed as one":   {[]string{":method", "GET", "origin", "https://a", "access-control-request-method", "PUT"}, false},
		"override dressed up":  {[]string{":method", "POST", "x-http-method-override", "OPTIONS", "origin", "https://a", "access-control-request-method", "PUT"}, false},
		"method in other case": {[]string{":method", "options", "origin", "https://a", "access-control-request-method", "PUT"}, false},
	} {
		if got := IsPreflight(from("203.0.113.7", c.headers...)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestUndeclaredRequestsGoWhereTheConfigurationSays(t *testing.T) {
	routes := `"routes": {"GET /a": ` + one + `}`
	for name, c := range map[string]struct {
		raw, want string
		refuse    bool
	}{
		"default":                {`{` + routes + `, "default": ` + one + `}`, "default", false},
		"null":                   {`{` + routes + `, "default": null}`, "none", false},
		"refused":                {`{` + routes + `, "undeclared": "refuse"}`, "none", true},
		"refused before default": {`{` + routes + `, "undeclared": "refuse", "default": ` + one + `}`, "none", true},
		"not in shadow mode":     {`{"mode": "shadow", ` + routes + `, "undeclared": "refuse", "default": ` + one + `}`, "default", false},
		"not when off":           {`{"mode": "off", ` + routes + `, "undeclared": "refuse", "default": ` + one + `}`, "none", false},
		"empty":                  {`{}`, "none", false},
	} {
		p := mustParse(t, c.raw)
		if got := keyOf(p.Match("GET", "", "/b", new(Matched))); got != c.want || p.RefuseUndeclared != c.refuse {
			t.Errorf("%s: %s, refuse %v, want %s, %v", name, got, p.RefuseUndeclared, c.want, c.refuse)
		}
	}
}

func TestOffMatchesNothing(t *testing.T) {
	p := mustParse(t, `{"mode": "off", "routes": {"GET /a": `+one+`}, "default": `+one+`}`)
	m := Matched{Params: []route.Param{{Name: "old", Value: "old"}}}
	if r := p.Match("GET", "", "/a", &m); r != nil || len(m.Params) != 0 {
		t.Errorf("matched %s with %v", keyOf(r), m.Params)
	}
}

// FuzzMatch: with a default every request lands in exactly one route, and in
// the same one however its path is spelt.
func FuzzMatch(f *testing.F) {
	p := mustParse(f, `{"routes": {
		"POST /login": `+one+`, "GET /users/:id": `+one+`, "GET /users/me": `+one+`, "GET /users/*": `+one+`, "* api.example.com/*": `+one+`, "GET /a%2Fb/:x/c": `+one+`
	}, "default": `+one+`}`)
	for _, path := range []string{"/login", "//login/", "/users/me", "/users/%6de", "/users/7/..//me", "/a%2fb/x/c", "", "*", "/%", "/%zz/..", `\..\login`} {
		f.Add("GET", "example.com", path)
		f.Add("POST", "api.example.com:443", path)
	}
	f.Fuzz(func(t *testing.T, method, host, path string) {
		var m, again Matched
		r := p.Match(method, host, path, &m)
		if r == nil {
			t.Fatal("no route")
		}
		if other := p.Match(method, host, string(p.Paths.Normalize(nil, path)), &again); other != r {
			t.Fatalf("%s, but %s for the normal form", r.Key, other.Key)
		}
		if diff := cmp.Diff(m.Params, again.Params); diff != "" {
			t.Fatal(diff)
		}
		respelt := "/." + strings.ReplaceAll("/"+path, "/", "//")
		if cut := strings.IndexAny(respelt, "?#"); cut >= 0 {
			respelt = respelt[:cut]
		}
		if other := p.Match(method, host, respelt+"/?q=/x", &again); other != r {
			t.Fatalf("%s, but %s spelt %q", r.Key, other.Key, respelt)
		}
		plan := new(Plan)
		r.Plan(requestOf(from("203.0.113.7"), m.Params, ""), plan)
		if len(plan.Groups) != 1 {
			t.Fatalf("%d keys, want one", len(plan.Groups))
		}
	})
}
