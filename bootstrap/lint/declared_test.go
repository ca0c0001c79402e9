package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proxy is an Envoy configuration with a policy and the routes of one virtual
// host, each on a line of its own.
func proxy(policy, domains string, routes ...string) string {
	text := `filter_chains:
- filters:
  - typed_config:
      "@type": t/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
      use_remote_address: true
      route_config:
        virtual_hosts:
        - domains: DOMAINS
          routes:
ROUTES
      http_filters:
      - typed_config:
          "@type": t/envoy.extensions.filters.http.wasm.v3.Wasm
          config: {name: routelimit, failure_policy: FAIL_RELOAD, configuration: {value: 'POLICY'}}
`
	var list []string
	for _, r := range routes {
		list = append(list, "          - "+r)
	}
	return strings.NewReplacer("DOMAINS", domains, "ROUTES", strings.Join(list, "\n"), "POLICY", policy).Replace(text)
}

const (
	oneLimit = `{"identity": "ip", "limit": 1, "window": "1m"}`
	toX      = ", route: {cluster: x}}"
)

func TestRequireDeclaredFindsWhatOnlyTheDefaultCovers(t *testing.T) {
	policy := `{"routes": {"POST /login": ` + oneLimit + `, "* /api/*": ` + oneLimit + `, "* /api": ` + oneLimit + `, "GET b.example.com/only": ` + oneLimit + `,
		"REPORT /dav": ` + oneLimit + `, "GET /t/:id/*": ` + oneLimit + `}, "default": ` + oneLimit + `}`
	policy = strings.ReplaceAll(policy, "\n\t\t", " ")
	for name, c := range map[string]struct {
		domains, route string
		declared       bool
	}{
		"path":                     {`["*"]`, "{match: {path: /login}" + toX, true},
		"path nobody lists":        {`["*"]`, "{match: {path: /logout}" + toX, false},
		"path spelled otherwise":   {`["*"]`, "{match: {path: //login/}" + toX, true},
		"its method":               {`["*"]`, `{match: {path: /login, headers: [{name: ":method", string_match: {exact: POST}}]}` + toX, true},
		"another method":           {`["*"]`, `{match: {path: /login, headers: [{name: ":method", string_match: {exact: PUT}}]}` + toX, false},
		"another method, old form": {`["*"]`, `{match: {path: /login, headers: [{name: ":method", exact_match: PUT}]}` + toX, false},
		"any method but one":       {`["*"]`, `{match: {path: /login, headers: [{name: ":method", string_match: {exact: PUT}, invert_match: true}]}` + toX, true},
		"a method of the policy's": {`["*"]`, "{match: {path: /dav}" + toX, true},
		"prefix":                   {`["*"]`, "{match: {prefix: /api/}" + toX, true},
		"prefix that reaches far":  {`["*"]`, "{match: {prefix: /api}" + toX, false},
		"separated prefix":         {`["*"]`, "{match: {path_separated_prefix: /api}" + toX, true},
		"everything":               {`["*"]`, "{match: {prefix: /}" + toX, false},
		"template":                 {`["*"]`, "{match: {path_match_policy: {typed_config: {path_template: '/t/{id}/**'}}}" + toX, true},
		"template of a rest":       {`["*"]`, "{match: {path_match_policy: {typed_config: {path_template: '/t/{id=a}/{rest=x/*}'}}}" + toX, true},
		"template nobody lists":    {`["*"]`, "{match: {path_match_policy: {typed_config: {path_template: '/t/{id}'}}}" + toX, false},
		"regex":                    {`["*"]`, "{match: {safe_regex: {regex: /login}}" + toX, false},
		"host":                     {`["b.example.com:443"]`, "{match: {path: /only}" + toX, true},
		"another host":             {`["b.example.com", "a.example.com"]`, "{match: {path: /only}" + toX, false},
		"hosts of a domain":        {`["*.example.com"]`, "{match: {path: /only}" + toX, false},
		"metadata":                 {`["*"]`, "{match: {path: /x}, metadata: {filter_metadata: {routelimit: {route: GET /x, limits: []}}}" + toX, true},
		"redirect":                 {`["*"]`, "{match: {prefix: /}, redirect: {path_redirect: /}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			text := proxy(policy, c.domains, c.route)
			want := []string{}
			if !c.declared {
				want = []string{"error undeclared: " + strings.TrimPrefix(c.route, "{match: {")}
			}
			if diff := cmp.Diff(want, find(t, text, Options{RequireDeclared: true})); diff != "" {
				t.Error(diff)
			}
			if found := find(t, text, Options{}); len(found) != 0 {
				t.Errorf("not asked for: %v", found)
			}
		})
	}
}

func TestRequireDeclaredSaysWhatItCannotSee(t *testing.T) {
	text := proxy(`{"default": `+oneLimit+`}`, `["*"]`)
	text = strings.Replace(text, "      use_remote_address", "      rds: {}\n      use_remote_address", 1)
	want := []string{`error undeclared: "@type": t/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`}
	if diff := cmp.Diff(want, find(t, text, Options{RequireDeclared: true})); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsInRouteMetadataAreChecked(t *testing.T) {
	carry := func(fields string) string {
		return "{match: {path: /x}, metadata: {filter_metadata: {routelimit: {" + fields + "}}}" + toX
	}
	policy := `{"identities": {"tenant": {"from": "path:tenant"}}, "default": ` + oneLimit + `}`
	for name, c := range map[string]struct {
		fields string
		want   []string
	}{
		"right":        {"route: GET /:tenant, identity: tenant, limit: 5, window: 1m", nil},
		"wrong":        {"route: GET /x, identity: ip, limit: 5, window: 60", []string{"error invalid:", "warning identity-unused:"}},
		"cannot work":  {"route: GET /x, identity: tenant, limit: 5, window: 1m", []string{"error path-parameter:"}},
		"not a number": {"route: GET /x, identity: tenant, limit: .inf, window: 1m", []string{"error invalid:", "warning identity-unused:"}},
	} {
		t.Run(name, func(t *testing.T) {
			route := carry(c.fields)
			var got []string
			for _, finding := range find(t, proxy(policy, `["*"]`, route), Options{}) {
				words := strings.Fields(finding)
				got = append(got, words[0]+" "+words[1])
				if words[0] == "error" && !strings.HasSuffix(route, finding[len(words[0])+len(words[1])+2:]) {
					t.Errorf("%s is not in the route", finding)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
