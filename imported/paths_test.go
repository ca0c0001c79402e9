package imported

import (
	"strings"
	"testing"
)

func pathRoute(match string) string {
	return routeOf(match, "{request_headers: {header_name: ':path', descriptor_key: PATH}}")
}

// No query gets a caller past the limit of a path, or a key of his own in Redis.
func TestPathsBecomeRoutes(t *testing.T) {
	const login = "- {key: PATH, value: /login, " + ten + "}\n"
	const matched = "{header_value_match: {descriptor_value: in, headers: [{name: ':path', string_match: {exact: /login}}]}}"
	for name, c := range map[string]struct{ service, routes, want, lost string }{
		"one path":                 {login, pathRoute("prefix: /"), "* /login", ":path has the query there"},
		"beside a limit for all":   {login + "- {key: PATH, " + ten + "}", pathRoute("prefix: /"), "* /login, default", ":path has the query there"},
		"a path of another route":  {login, pathRoute("path: /other"), "", ""},
		"a path with a query":      {"- {key: PATH, value: '/a?b=1', " + ten + "}", pathRoute("prefix: /"), "", `the path "/a?b=1" cannot be a route here`},
		"two spellings":            {login + "- {key: PATH, value: /login/, " + ten + "}", pathRoute("prefix: /"), "* /login", `"/login" and "/login/" are one here`},
		"a matcher of a path":      {"- {key: header_match, value: in, " + ten + "}", routeOf("prefix: /", matched), "* /login", ":path has the query there"},
		"a matcher of other paths": {"- {key: header_match, value: in, " + ten + "}", routeOf("prefix: /", strings.Replace(matched, "{desc", "{expect_match: false, desc", 1)), "* /login: none, default", ":path has the query there"},
		"below another entry": {"- key: generic_key\n  value: x\n  descriptors: [{key: PATH, value: /login, " + ten + "}]",
			routeOf("prefix: /", "{generic_key: {descriptor_value: x}}, {request_headers: {header_name: ':path', descriptor_key: PATH}}"), "* /login", ":path has the query there"},
	} {
		r := converted(t, c.service, c.routes)
		var got []string
		policy := policyOf(t, r)
		for _, name := range []string{"* /login", "default"} {
			if route, ok := policy[name].(map[string]any); ok && route["limits"] != nil {
				got = append(got, name+": none")
			} else if ok {
				got = append(got, name)
			}
		}
		if strings.Join(got, ", ") != c.want || strings.Contains(string(r.Policy), "request.path") {
			t.Errorf("%s: got %q, want %q in\n%s", name, got, c.want, r.Policy)
		}
		lost := ""
		for _, f := range r.Findings {
			if f.Lost {
				lost += f.Text + "\n"
			}
		}
		if !strings.Contains(lost, c.lost) || c.lost == "" && lost != "" {
			t.Errorf("%s: lost %q, want %q", name, lost, c.lost)
		}
	}
}

func TestADomainThatIsNotThereIsAllThatIsSaid(t *testing.T) {
	envoy := "'@type': x/" + managerType + "\nhttp_filters: [{name: limiter, typed_config: {'@type': x/" + filterType + ", domain: apis, request_type: internal}}]\n" +
		"route_config: {name: r, virtual_hosts: [{domains: ['*'], routes: [{match: {prefix: /api}, route: {cluster: b, rate_limits: [{actions: [{request_headers: {header_name: x, descriptor_key: k}}]}]}}]}]}\n"
	service := "domain: api\ndescriptors: [{key: k, " + ten + "}]"
	r, err := Convert(Input{Service: []File{{"s", []byte(service)}, {"w", []byte("domain: web")}}, Envoy: []File{{"e", []byte(envoy)}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Lost() != 1 || !strings.Contains(r.Findings[0].Text, `the domain "apis", and the service's files have "api", "web"`) {
		t.Errorf("%+v", r.Findings)
	}
}

func TestNothingIsLostOfWhatLimitsNothing(t *testing.T) {
	if r := converted(t, "- {key: other, "+ten+"}", routeOf("path: /a", "{request_headers: {header_name: x, descriptor_key: k}}")); r.Lost() != 0 {
		t.Errorf("%+v", r.Findings)
	}
}
