package imported

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// converted converts one service file and the routes of one virtual host.
func converted(t *testing.T, service, routes string) *Result {
	t.Helper()
	envoy := "virtual_hosts:\n- name: all\n  domains: ['*']\n  routes:\n" + routes
	result, err := Convert(Input{
		Service: []File{{"limits.yaml", []byte("domain: d\ndescriptors:\n" + service)}}, Envoy: []File{{"rds.yaml", []byte(envoy)}}, ServiceCluster: "edge",
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// limitsOf are the members of the policy that one route has, or the default.
func policyOf(t *testing.T, r *Result) map[string]any {
	t.Helper()
	var policy struct {
		Routes  map[string]any `json:"routes"`
		Default any            `json:"default"`
	}
	if err := json.Unmarshal(r.Policy, &policy); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for name, route := range policy.Routes {
		all[name] = route
	}
	if policy.Default != nil {
		all["default"] = policy.Default
	}
	return all
}

func routeOf(match, actions string) string {
	return fmt.Sprintf("  - match: {%s}\n    route: {cluster: backend, rate_limits: [{actions: [%s]}]}\n", match, actions)
}

// perRouted is a route whose rate_limits stand in the filter's own configuration.
func perRouted(limit string) string {
	return "  - match: {path: /a}\n    route: {cluster: b}\n    typed_per_filter_config: {envoy.filters.http.ratelimit: {'@type': x/" + perRouteType + ", rate_limits: [" + limit + "]}}\n"
}

const ten = "rate_limit: {unit: minute, requests_per_unit: 10}"

// What decides who is refused comes over as it was.
func TestWhatIsCarriedOver(t *testing.T) {
	of := func(fields string) string { return `"window": "1m", "algorithm": "fixed_window", ` + fields }
	for name, c := range map[string]struct{ service, routes, want string }{
		"an address": {
			"- key: remote_address\n  " + ten, routeOf("prefix: /", "{remote_address: {}}"),
			`{"default": {"name": "remote_address", "identity": "ip", "limit": 10, ` + of("") + `}}`,
		},
		"everybody": {
			"- {key: generic_key, value: login, " + ten + "}", routeOf("path: /login", "{generic_key: {descriptor_value: login}}"),
			`{"* /login": {"name": "generic_key_login", "identity": "all", "limit": 10, ` + of("") + `}}`,
		},
		"values of a header": {
			"- {key: plan, value: gold, rate_limit: {unit: minute, requests_per_unit: 100}}\n- {key: plan, " + ten + "}",
			routeOf("path: /a", "{request_headers: {header_name: X-Plan, descriptor_key: plan}}"),
			`{"* /a": {"name": "plan", "identity": "x_plan", "limit": {"by": "header:x-plan", "values": {"gold": 100}, "default": 10}, ` + of("") + `}}`,
		},
		"the path as a header": {
			"- {key: PATH, value: /productpage, rate_limit: {unit: minute, requests_per_unit: 1}}\n- {key: PATH, " + ten + "}",
			routeOf("prefix: /", "{request_headers: {header_name: ':path', descriptor_key: PATH}}"),
			`{"* /productpage": {"name": "PATH__productpage", "identity": "all", "limit": 1, ` + of("") + `}, "default": {"name": "PATH", "identity": "url_path", "limit": 10, ` + of("") + `}}`,
		},
		"a header that decides whether": {
			"- {key: header_match, value: internal, " + ten + "}",
			routeOf("path: /a", "{header_value_match: {descriptor_value: internal, expect_match: false, headers: [{name: x-from, string_match: {exact: vpn}}]}}"),
			`{"* /a": {"name": "header_match_internal", "identity": "all", "limit": {"by": "header:x-from", "values": {"vpn": 4294967295}, "default": 10}, ` + of("") + `}}`,
		},
		"methods": {
			"- {key: header_match, value: write, " + ten + "}",
			routeOf("path: /a", "{header_value_match: {descriptor_value: write, headers: [{name: ':method', safe_regex_match: {regex: 'POST|PUT'}}]}}"),
			`{"POST /a": {"name": "header_match_write", "identity": "all", "limit": 10, "bucket": "header_match_write", ` + of("") + `},
			  "PUT /a": {"name": "header_match_write", "identity": "all", "limit": 10, "bucket": "header_match_write", ` + of("") + `}}`,
		},
		"clusters": {
			"- key: source_cluster\n  value: edge\n  descriptors:\n  - {key: destination_cluster, value: backend, " + ten + "}",
			routeOf("path: /a", "{source_cluster: {}}, {destination_cluster: {}}"),
			`{"* /a": {"name": "source_cluster_edge.destination_cluster_backend", "identity": "all", "limit": 10, ` + of("") + `}}`,
		},
		"metadata": {
			"- {key: user, " + ten + "}",
			routeOf("path: /a", "{metadata: {descriptor_key: user, metadata_key: {key: envoy.filters.http.jwt_authn, path: [{key: payload}, {key: sub}]}}}"),
			`{"* /a": {"name": "user", "identity": "sub", "limit": 10, ` + of("") + `}}`,
		},
		"a pattern for a known value": {
			"- {key: generic_key, value: 'file*', share_threshold: true, " + ten + "}",
			routeOf("path: /a", "{generic_key: {descriptor_value: file1}}") + routeOf("path: /b", "{generic_key: {descriptor_value: file2}}"),
			`{"* /a": {"name": "generic_key_file1", "identity": "all", "limit": 10, "bucket": "generic_key_file1", ` + of("") + `},
			  "* /b": {"name": "generic_key_file2", "identity": "all", "limit": 10, "bucket": "generic_key_file1", ` + of("") + `}}`,
		},
		"what another replaces": {
			"- {key: generic_key, value: own, rate_limit: {unit: minute, requests_per_unit: 10, replaces: [{name: usual}]}}\n" +
				"- {key: remote_address, rate_limit: {unit: minute, requests_per_unit: 2, name: usual}}",
			"  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{actions: [{remote_address: {}}]}, {actions: [{generic_key: {descriptor_value: own}}]}]}\n",
			`{"* /a": {"name": "generic_key_own", "identity": "all", "limit": 10, ` + of("") + `}}`,
		},
		"unlimited": {
			"- {key: remote_address, rate_limit: {unlimited: true}}", routeOf("path: /a", "{remote_address: {}}"), `{}`,
		},
		"a limit in the route": {
			"- {key: other}", "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{limit: {rate_limit: {unit: HOUR, requests_per_unit: 5}}, actions: [{remote_address: {}}]}]}\n",
			`{"* /a": {"name": "remote_address", "identity": "ip", "limit": 5, "window": "1h", "algorithm": "fixed_window"}}`,
		},
		"a cost where Envoy heeds one": {
			"- {key: remote_address, " + ten + "}", perRouted("{hits_addend: {number: 3}, actions: [{remote_address: {}}]}"),
			`{"* /a": {"name": "remote_address", "identity": "ip", "limit": 10, "cost": 3, ` + of("") + `}}`,
		},
		"a cost where Envoy heeds none": {
			"- {key: remote_address, " + ten + "}", "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{hits_addend: {number: 3}, actions: [{remote_address: {}}]}]}\n",
			`{"* /a": {"name": "remote_address", "identity": "ip", "limit": 10, ` + of("") + `}}`,
		},
		"what is redirected is not counted": {
			"- key: remote_address\n  " + ten, "  - match: {path: /old}\n    redirect: {path_redirect: /}\n" + routeOf("prefix: /", "{remote_address: {}}"),
			`{"* /old": {"limits": []}, "default": {"name": "remote_address", "identity": "ip", "limit": 10, ` + of("") + `}}`,
		},
		"the first route wins": {
			"- {key: generic_key, value: login, " + ten + "}\n- {key: remote_address, " + ten + "}",
			routeOf("path_separated_prefix: /a", "{remote_address: {}}") + routeOf("path: /a/login", "{generic_key: {descriptor_value: login}}"),
			`{"* /a": {"name": "remote_address", "identity": "ip", "limit": 10, "bucket": "remote_address", ` + of("") + `},
			  "* /a/*": {"name": "remote_address", "identity": "ip", "limit": 10, "bucket": "remote_address", ` + of("") + `},
			  "* /a/login": {"name": "remote_address", "identity": "ip", "limit": 10, "bucket": "remote_address", ` + of("") + `}}`,
		},
		"a template of Envoy's": {
			"- key: remote_address\n  " + ten,
			routeOf("path_match_policy: {typed_config: {path_template: '/users/{id}/posts'}}", "{remote_address: {}}"),
			`{"* /users/:p2/posts": {"name": "remote_address", "identity": "ip", "limit": 10, ` + of("") + `}}`,
		},
	} {
		var want map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(c.want, ", }", "}")), &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, policyOf(t, converted(t, c.service, c.routes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Names that would be one are told apart, also from those that a number makes.
func TestNamesOfIdentitiesDiffer(t *testing.T) {
	var actions []string
	service := ""
	for i, header := range []string{"x", "x-2", "ip", "all", "1"} {
		service += fmt.Sprintf("- {key: k%d, "+ten+"}\n", i)
		actions = append(actions, fmt.Sprintf("{actions: [{request_headers: {header_name: %q, descriptor_key: k%d}}]}", header, i))
	}
	service += "- {key: q, " + ten + "}\n"
	actions = append(actions, "{actions: [{query_parameters: {query_parameter_name: x, descriptor_key: q}}]}")
	r := converted(t, service, "  - match: {path: /a}\n    route: {cluster: b, rate_limits: ["+strings.Join(actions, ", ")+"]}\n")
	var policy struct {
		Identities map[string]struct{ From string }
	}
	if err := json.Unmarshal(r.Policy, &policy); err != nil || len(policy.Identities) != 6 {
		t.Errorf("%v in\n%s", err, r.Policy)
	}
}

// A short file of aliases is no long work.
func TestAliasesAreBounded(t *testing.T) {
	service := "domain: d\ndescriptors:\n- {key: k, descriptors: &l0 [{key: x}]}\n"
	for i := 1; i < 25; i++ {
		service += fmt.Sprintf("- {key: k%d, descriptors: &l%d [{key: p, descriptors: *l%d}, {key: q, descriptors: *l%d}]}\n", i, i, i-1, i-1)
	}
	_, err := Convert(Input{Service: []File{{"limits.yaml", []byte(service)}}, Envoy: []File{{"rds.yaml", []byte("virtual_hosts: []")}}})
	if err == nil || !strings.Contains(err.Error(), "there are more than 400000 values; convert the domains one by one") {
		t.Error(err)
	}
}

// What has no equivalent is said, with its place, and what to do.
func TestWhatIsLost(t *testing.T) {
	address := "- key: remote_address\n  " + ten
	for name, c := range map[string]struct{ service, routes, want string }{
		"a regular expression":      {address, routeOf("safe_regex: {regex: '/v[0-9]+/x'}", "{remote_address: {}}"), `rds.yaml:5:5: "route 1": its safe_regex has no equivalent in a policy's routes; give this route of Envoy's its limits itself, with metadata: {"filter_metadata": {"routelimit": {"route": "* /route_1", "name": "remote_address", "identity": "ip", "limit": 10, "window": "1m", "algorithm": "fixed_window"}}}`},
		"a header of a route":       {address, routeOf("path: /a, headers: [{name: x-beta, present_match: true}]", "{remote_address: {}}"), "its headers has no equivalent"},
		"a prefix":                  {address, routeOf("prefix: /api", "{remote_address: {}}"), `"/apix"`},
		"letter case":               {address, routeOf("path: /a, case_sensitive: false", "{remote_address: {}}"), "its case_sensitive"},
		"an absent header":          {"- {key: user, " + ten + "}", routeOf("path: /a", "{request_headers: {header_name: x-user, descriptor_key: user}}"), "a request without the header x-user was not counted"},
		"a skipped one":             {"- {key: user, " + ten + "}", routeOf("path: /a", "{request_headers: {header_name: x-user, descriptor_key: user, skip_if_absent: true}}"), "skip_if_absent: a request without"},
		"a pattern":                 {"- {key: user, value: 'a*', " + ten + "}\n- {key: user, " + ten + "}", routeOf("path: /a", "{request_headers: {header_name: x-user, descriptor_key: user}}"), `limits.yaml:3:4: the pattern "user_a*"`},
		"an address of its own":     {"- {key: remote_address, value: 50.0.0.5, " + ten + "}\n" + address, routeOf("path: /a", "{remote_address: {}}"), `a limit for the address "50.0.0.5" alone`},
		"two values together":       {"- key: a\n  value: x\n  descriptors:\n  - {key: b, value: y, " + ten + "}", routeOf("path: /a", "{request_headers: {header_name: a, descriptor_key: a}}, {request_headers: {header_name: b, descriptor_key: b}}"), "differ by the values of header:a and header:b together"},
		"a part of a value":         {"- {key: header_match, value: x, " + ten + "}", routeOf("path: /a", "{header_value_match: {descriptor_value: x, headers: [{name: a, string_match: {prefix: b}}]}}"), "only :method, and whole values"},
		"an extension":              {address, routeOf("path: /a", "{extension: {name: x}}"), "the action extension has no equivalent"},
		"a network of IPv4":         {"- {key: masked_remote_address, " + ten + "}", routeOf("path: /a", "{masked_remote_address: {v4_prefix_mask_len: 24}}"), "an IPv4 address counts whole here"},
		"two lengths of IPv6":       {"- {key: masked_remote_address, " + ten + "}\n" + address, routeOf("path: /a", "{masked_remote_address: {v6_prefix_mask_len: 64}}") + routeOf("path: /b", "{remote_address: {}}"), "client.ipv6_prefix is one for all limits: 64"},
		"after the response":        {address, "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{apply_on_stream_done: true, actions: [{remote_address: {}}]}]}\n", "apply_on_stream_done"},
		"a limit from metadata":     {address, "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{limit: {dynamic_metadata: {metadata_key: {key: x}}}, actions: [{remote_address: {}}]}]}\n", "a limit from dynamic metadata"},
		"giving back":               {address, perRouted("{hits_addend: {number: 1, is_negative_hits: true}, actions: [{remote_address: {}}]}"), "is_negative_hits"},
		"more than can be counted":  {"- {key: remote_address, rate_limit: {unit: year, requests_per_unit: 4294967295}}", routeOf("path: /a", "{remote_address: {}}"), "4294967295 in 365d is more than can be counted exactly here; 285616 was taken"},
		"quotas that hold together": {"- {key: generic_key, value: a, quota_mode: true, " + ten + "}\n- {key: generic_key, value: b, quota_mode: true, " + ten + "}", "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{actions: [{generic_key: {descriptor_value: a}}]}, {actions: [{generic_key: {descriptor_value: b}}]}]}\n", "quota_mode"},
		"a replacement for some":    {"- {key: user, rate_limit: {unit: minute, requests_per_unit: 10, replaces: [{name: usual}]}}\n- {key: remote_address, rate_limit: {unit: minute, requests_per_unit: 2, name: usual}}", "  - match: {path: /a}\n    route: {cluster: b, rate_limits: [{actions: [{remote_address: {}}]}, {actions: [{request_headers: {header_name: u, descriptor_key: user}}]}]}\n", `it replaces "usual" for some requests alone`},
		"no cluster that is known":  {address, "  - match: {path: /a}\n    route: {weighted_clusters: {}, rate_limits: [{actions: [{destination_cluster: {}}]}]}\n", "the route has no one cluster"},
	} {
		r := converted(t, c.service, c.routes)
		found := false
		var all []string
		for _, f := range r.Findings {
			all = append(all, f.Place.String()+": "+f.Text)
			found = found || f.Lost && strings.Contains(f.Place.String()+": "+f.Text, c.want)
		}
		if !found || r.Lost() == 0 {
			t.Errorf("%s: nobody says %q but\n%s", name, c.want, strings.Join(all, "\n"))
		}
	}
}

func TestNotesDoNotCountAsLost(t *testing.T) {
	for name, c := range map[string]struct{ service, routes, want string }{
		"a limit that nobody asks about":   {"- {key: remote_address, " + ten + "}\n- {key: old, " + ten + "}", routeOf("prefix: /", "{remote_address: {}}"), `no rate_limits action asks about "old"`},
		"a question without a limit":       {"- {key: old, " + ten + "}", routeOf("prefix: /", "{remote_address: {}}"), "the service has no limit for this descriptor (remote_address)"},
		"values without a limit of theirs": {"- {key: verb, value: GET, " + ten + "}", routeOf("prefix: /", "{request_headers: {header_name: ':method', descriptor_key: verb}}"), "held to 4294967295 in 1m"},
	} {
		r := converted(t, c.service, c.routes)
		if r.Lost() != 0 || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Text, c.want) }) {
			t.Errorf("%s: %d lost, %+v", name, r.Lost(), r.Findings)
		}
	}
}

// What the service refuses to load, and files that are none, are errors with a place.
func TestWhatCannotBeRead(t *testing.T) {
	const envoy = "virtual_hosts: []"
	for name, c := range map[string]struct{ service, envoy, want string }{
		"nothing":           {"", envoy, "limits.yaml: it is no configuration"},
		"no YAML":           {"a: [", envoy, "limits.yaml:1:"},
		"no domain":         {"descriptors: []", envoy, "limits.yaml:1:1: the domain is missing"},
		"an unknown field":  {"domain: d\nlimits: []", envoy, `limits.yaml:2:1: the service does not know the field "limits"`},
		"no key":            {"domain: d\ndescriptors:\n- value: x", envoy, "limits.yaml:3:3: the descriptor has no key"},
		"twice":             {"domain: d\ndescriptors:\n- key: x\n- key: x", envoy, `limits.yaml:4:3: the descriptor "x" occurs twice`},
		"no unit":           {"domain: d\ndescriptors:\n- key: x\n  rate_limit: {unit: fortnight}", envoy, `"fortnight" is no unit`},
		"no number":         {"domain: d\ndescriptors:\n- key: x\n  rate_limit: {unit: day, requests_per_unit: -1}", envoy, `"-1" is no number of requests`},
		"nothing of Envoy":  {"domain: d", "{}", "no Envoy configuration has routes"},
		"two of Envoy":      {"domain: d", "a: {name: x, virtual_hosts: []}\nb: {name: y, virtual_hosts: []}", `there are 2 route configurations, "x", "y"`},
		"too deep":          {"domain: d\ndescriptors: " + strings.Repeat("[{key: x, descriptors: ", 40) + "[]" + strings.Repeat("}]", 40), envoy, "nested too deep"},
		"Envoy's for its":   {"static_resources: {}", envoy, "limits.yaml: this is an Envoy configuration; give it by --envoy"},
		"a route's for its": {"name: r\nvirtual_hosts: []", envoy, "limits.yaml: this is an Envoy configuration; give it by --envoy"},
		"its for Envoy's":   {"domain: d", "domain: d\ndescriptors: []", "rds.yaml: this is a configuration of the rate limit service; give it by --ratelimit"},
		"a domain too many": {"domain: d", "virtual_hosts: []", ""},
	} {
		_, err := Convert(Input{Service: []File{{"limits.yaml", []byte(c.service)}}, Envoy: []File{{"rds.yaml", []byte(c.envoy)}}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzConvert: no file makes it panic or write a policy that is none.
func FuzzConvert(f *testing.F) {
	service := "domain: d\ndescriptors:\n- {key: plan, value: gold, " + ten + "}\n- key: remote_address\n  descriptors: [{key: a, value: 'x*', shadow_mode: true, " + ten + "}]"
	f.Add([]byte(service), []byte("virtual_hosts:\n- domains: ['*', a.example]\n  routes:\n"+routeOf("prefix: /", "{request_headers: {header_name: x, descriptor_key: plan}}, {remote_address: {}}")))
	f.Add([]byte("a: &a [*a]"), []byte("virtual_hosts: [{routes: [{match: {safe_regex: {regex: '/[^/]+/.*'}}, route: {rate_limits: [{actions: [{generic_key: 1}, 7, {metadata: {}}]}]}}]}]"))
	f.Add([]byte("domain: d"), []byte("virtual_hosts: 7"))
	f.Fuzz(func(t *testing.T, service, envoy []byte) {
		r, err := Convert(Input{Service: []File{{"s", service}}, Envoy: []File{{"e", envoy}}, ServiceCluster: "edge"})
		if err != nil && strings.Contains(err.Error(), "please report") {
			t.Fatal(err)
		}
		if err == nil && r == nil {
			t.Fatal("neither an error nor a result")
		}
	})
}

// Which filter asks with which of the rate_limits is as in Envoy's filter.
func TestWhichRateLimitsHold(t *testing.T) {
	const service = "domain: d\ndescriptors:\n- {key: generic_key, rate_limit: {unit: minute, requests_per_unit: 10}}"
	limit := func(value string, more string) string {
		return fmt.Sprintf("{actions: [{generic_key: {descriptor_value: %s}}]%s}", value, more)
	}
	for name, c := range map[string]struct{ filter, host, route, want string }{
		"the route's, not the host's":            {"", limit("host", ""), "rate_limits: [" + limit("own", "") + "]", "own"},
		"the host's where the route has none":    {"", limit("host", ""), "cluster: x", "host"},
		"both where the route says so":           {"", limit("host", ""), "include_vh_rate_limits: true, rate_limits: [" + limit("own", "") + "]", "own host"},
		"those of the filter's stage":            {"stage: 1", limit("host", ""), "rate_limits: [" + limit("own", "") + ", " + limit("late", ", stage: 1") + "]", "late"},
		"the filter's own":                       {"rate_limits: [" + limit("filter", "") + "]", limit("host", ""), "rate_limits: [" + limit("own", "") + "]", "filter"},
		"both where the route's filter includes": {"", limit("host", ""), "rate_limits: [" + limit("own", "") + "]}, typed_per_filter_config: {limiter: {'@type': x/" + perRouteType + ", vh_rate_limits: INCLUDE}", "own host"},
		"none where it is to ignore the host's":  {"", limit("host", ""), "cluster: x}, typed_per_filter_config: {limiter: {'@type': x/" + perRouteType + ", vh_rate_limits: IGNORE}", ""},
		"those of the route's filter alone":      {"", limit("host", ""), "rate_limits: [" + limit("own", "") + "]}, typed_per_filter_config: {limiter: {'@type': x/" + perRouteType + ", rate_limits: [" + limit("per", "") + "]}", "per"},
		"none where the filter is off":           {"", limit("host", ""), "cluster: x}, typed_per_filter_config: {limiter: {'@type': x/" + wrapperType + ", disabled: true}", ""},
		"of another domain":                      {"domain: other", limit("host", ""), "cluster: x", ""},
	} {
		filter := c.filter
		if !strings.HasPrefix(filter, "domain") {
			filter = "domain: d, " + filter
		}
		envoy := "'@type': x/" + managerType + "\nhttp_filters: [{name: limiter, typed_config: {'@type': x/" + filterType + ", failure_mode_deny: true, " +
			"rate_limited_status: {code: ServiceUnavailable}, response_headers_to_add: [{header: {key: X-Limited, value: 'yes'}}], " + filter + "}}]\n" +
			"route_config:\n  name: r\n  virtual_hosts:\n  - domains: ['*']\n    rate_limits: [" + c.host + "]\n    routes: [{match: {prefix: /}, route: {" + c.route + "}}]\n"
		r, err := Convert(Input{Service: []File{{"s", []byte(service)}}, Envoy: []File{{"e", []byte(envoy)}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, value := range []string{"own", "host", "late", "filter", "per"} {
			if strings.Contains(string(r.Policy), `"generic_key_`+value+`"`) {
				got = append(got, value)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q\n%s", name, got, c.want, r.Policy)
		}
		for _, want := range []string{`"response": {"status": 503, "headers": {"x-limited": "yes"}}`, `"headers": "none"`} {
			if !strings.Contains(string(r.Policy), want) {
				t.Errorf("%s: no %s in\n%s", name, want, r.Policy)
			}
		}
		if closed := strings.Contains(string(r.Policy), `"on_error": "closed"`); closed != (c.want != "") {
			t.Errorf("%s: closed %t", name, closed)
		}
	}
}
