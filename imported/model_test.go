package imported

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/accesslog"
	"routelimit/policy"
	"routelimit/replay"
)

// The model is what envoyproxy/ratelimit and Envoy's filter do, written down a second
// time and without their tree: requests are counted by the text of a descriptor.

// modelRoute is a route of Envoy's.
type modelRoute struct {
	kind, path string // path, path_separated_prefix or safe_regex
	method     string // "" for any
	host       string // "" for any
	asks       []modelAsk
}

// modelAsk is an element of rate_limits.
type modelAsk struct {
	actions []string // "a" is generic_key=a; "user", "ip"; "POST" is header_value_match of the method
	cost    int64
}

// modelLimit is a limit of the service, by the descriptor's entries: "generic_key_a", "user", "user_u1".
type modelLimit struct {
	entries []string
	number  int64
	unit    string
	shadow  bool
}

type model struct {
	routes []modelRoute
	limits []modelLimit
	// all charges what a refused request asked for, as the service does.
	all    bool
	counts map[string]int64
}

type modelRequest struct{ method, host, path, user, ip string }

// route is Envoy's first match in the virtual host.
func (m *model) route(q modelRequest) *modelRoute {
	named := slices.ContainsFunc(m.routes, func(r modelRoute) bool { return r.host == q.host })
	for i := range m.routes {
		r := &m.routes[i]
		if (r.host != "") != named || r.method != "" && r.method != q.method {
			continue
		}
		below := strings.HasPrefix(q.path, strings.TrimSuffix(r.path, "/")+"/")
		if r.kind == "path" && q.path == r.path || r.kind == "safe_regex" && regexp.MustCompile("^(?:"+r.path+")$").MatchString(q.path) ||
			r.kind == "path_separated_prefix" && (q.path == r.path || below) {
			return r
		}
	}
	return nil
}

// entries are those of a descriptor for a request; ok is false if it is not sent.
func (a modelAsk) entries(q modelRequest) (keys, values []string, ok bool) {
	for _, action := range a.actions {
		switch action {
		case "user":
			keys, values = append(keys, "user"), append(values, q.user)
		case "ip":
			keys, values = append(keys, "remote_address"), append(values, q.ip)
		case "POST":
			if q.method != "POST" {
				return nil, nil, false
			}
			keys, values = append(keys, "header_match"), append(values, "post")
		default:
			keys, values = append(keys, "generic_key"), append(values, action)
		}
	}
	return keys, values, true
}

// limit finds the most specific: at each entry the value before the key alone, and
// what was chosen for one entry stands for the next.
func (m *model) limit(keys, values []string) *modelLimit {
	left := m.limits
	for i := range keys {
		at := func(name string) []modelLimit {
			return slices.DeleteFunc(slices.Clone(left), func(l modelLimit) bool { return len(l.entries) <= i || l.entries[i] != name })
		}
		if exact := at(keys[i] + "_" + values[i]); len(exact) > 0 {
			left = exact
		} else {
			left = at(keys[i])
		}
	}
	for _, l := range left {
		if len(l.entries) == len(keys) {
			return &l
		}
	}
	return nil
}

// allowed decides a request at a time in seconds.
func (m *model) allowed(q modelRequest, now int64) (ok bool, limits int) {
	r := m.route(q)
	if r == nil {
		return true, 0
	}
	ok = true
	charges := map[string]int64{}
	for _, a := range r.asks {
		keys, values, sent := a.entries(q)
		if !sent {
			continue
		}
		l := m.limit(keys, values)
		if l == nil {
			continue
		}
		limits++
		window := int64(units[strings.ToUpper(l.unit)] / time.Second)
		key := fmt.Sprint(keys, values, window, now/window)
		charges[key] += a.cost
		if m.counts[key]+charges[key] > l.number && !l.shadow {
			ok = false
		}
	}
	if ok || m.all {
		for key, cost := range charges {
			m.counts[key] += cost
		}
	}
	return ok, limits
}

// files writes the model down as both programs read it.
func (m *model) files() (service, envoy string) {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	writeTree(&b, m.limits, 0, "")
	service = b.String()
	b.Reset()
	b.WriteString("name: all\nvirtual_hosts:\n")
	for _, host := range []string{"api.example.com", ""} {
		domain := host
		if host == "" {
			domain = `"*"`
		} else if !slices.ContainsFunc(m.routes, func(r modelRoute) bool { return r.host == host }) {
			continue
		}
		fmt.Fprintf(&b, "- name: %q\n  domains: [%s]\n  routes:\n", host, domain)
		for _, r := range m.routes {
			if r.host != host {
				continue
			}
			value := fmt.Sprintf("%q", r.path)
			if r.kind == "safe_regex" {
				value = fmt.Sprintf("{regex: %q}", r.path)
			}
			headers := ""
			if r.method != "" {
				headers = fmt.Sprintf(", headers: [{name: ':method', string_match: {exact: %s}}]", r.method)
			}
			fmt.Fprintf(&b, "  - match: {%s: %s%s}\n    route: {cluster: x}\n    typed_per_filter_config:\n      envoy.filters.http.ratelimit:\n"+
				"        '@type': type.googleapis.com/"+perRouteType+"\n        rate_limits:\n", r.kind, value, headers)
			for _, a := range r.asks {
				fmt.Fprintf(&b, "        - hits_addend: {number: %d}\n          actions:\n", a.cost)
				for _, action := range a.actions {
					switch action {
					case "user":
						b.WriteString("          - request_headers: {header_name: x-user, descriptor_key: user}\n")
					case "ip":
						b.WriteString("          - remote_address: {}\n")
					case "POST":
						b.WriteString("          - header_value_match: {descriptor_value: post, headers: [{name: ':method', string_match: {exact: POST}}]}\n")
					default:
						fmt.Fprintf(&b, "          - generic_key: {descriptor_value: %s}\n", action)
					}
				}
			}
		}
	}
	return service, b.String()
}

// writeTree nests the limits that begin alike.
func writeTree(b *strings.Builder, limits []modelLimit, depth int, pad string) {
	var names []string
	for _, l := range limits {
		if len(l.entries) > depth && !slices.Contains(names, l.entries[depth]) {
			names = append(names, l.entries[depth])
		}
	}
	for _, name := range names {
		key, value := name, ""
		for _, k := range []string{"generic_key", "remote_address", "header_match", "user"} {
			if rest, ok := strings.CutPrefix(name, k+"_"); ok {
				key, value = k, rest
			}
		}
		fmt.Fprintf(b, "%s- key: %s\n", pad, key)
		if value != "" {
			fmt.Fprintf(b, "%s  value: %s\n", pad, value)
		}
		var below []modelLimit
		for _, l := range limits {
			if len(l.entries) <= depth || l.entries[depth] != name {
				continue
			}
			if len(l.entries) == depth+1 {
				fmt.Fprintf(b, "%s  shadow_mode: %t\n%s  rate_limit: {unit: %s, requests_per_unit: %d}\n", pad, l.shadow, pad, l.unit, l.number)
			} else {
				below = append(below, l)
			}
		}
		if len(below) > 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", pad)
			writeTree(b, below, depth+1, pad+"  ")
		}
	}
}

var (
	modelPaths    = []string{"/", "/a", "/a/b", "/a/b/c", "/b", "/b/b", "/c/b/d"}
	modelActions  = [][]string{{"a"}, {"b"}, {"ip"}, {"user"}, {"a", "ip"}, {"a", "user"}, {"user", "ip"}, {"POST"}, {"POST", "ip"}, {"a", "user", "ip"}}
	modelEntries  = [][]string{{"generic_key_a", "generic_key"}, {"remote_address"}, {"user", "user_u1", "user_u2"}, {"header_match_post"}}
	modelPatterns = []modelRoute{
		{kind: "path", path: "/a"}, {kind: "path", path: "/a/b"}, {kind: "path", path: "/"}, {kind: "path_separated_prefix", path: "/a"},
		{kind: "path_separated_prefix", path: "/a/b"}, {kind: "safe_regex", path: "/[^/]+/b"}, {kind: "safe_regex", path: "/b/[^/]+"}, {kind: "safe_regex", path: "/.*"},
	}
)

func drawModel(t *rapid.T) *model {
	m := &model{counts: map[string]int64{}}
	for i := range rapid.IntRange(1, 5).Draw(t, "routes") {
		r := rapid.SampledFrom(modelPatterns).Draw(t, "pattern")
		r.method = rapid.SampledFrom([]string{"", "", "GET", "POST"}).Draw(t, "method")
		if i > 0 {
			r.host = rapid.SampledFrom([]string{"", "", "api.example.com"}).Draw(t, "host")
		}
		for range rapid.IntRange(0, 3).Draw(t, "asks") {
			r.asks = append(r.asks, modelAsk{rapid.SampledFrom(modelActions).Draw(t, "actions"), rapid.Int64Range(1, 2).Draw(t, "cost")})
		}
		m.routes = append(m.routes, r)
	}
	asked := modelActions
	for _, r := range m.routes {
		for _, a := range r.asks {
			asked = append(asked, a.actions, a.actions, a.actions)
		}
	}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 8).Draw(t, "limits") {
		l := modelLimit{
			number: rapid.Int64Range(0, 3).Draw(t, "number"), unit: rapid.SampledFrom([]string{"second", "minute"}).Draw(t, "unit"),
			shadow: rapid.IntRange(0, 5).Draw(t, "shadow") == 0,
		}
		for _, action := range rapid.SampledFrom(asked).Draw(t, "of") {
			at := map[string]int{"ip": 1, "user": 2, "POST": 3}[action]
			l.entries = append(l.entries, rapid.SampledFrom(modelEntries[at]).Draw(t, "entry"))
		}
		if key := fmt.Sprint(l.entries); !seen[key] {
			seen[key] = true
			m.limits = append(m.limits, l)
		}
	}
	return m
}

// Played side by side, the policy refuses exactly what the service would that charges
// no request which it refuses; and never more than the service as it is, which
// charges those, too.
func TestThePolicyRefusesWhatTheServiceDoes(t *testing.T) {
	var lost, refused, compared int
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		service, envoy := m.files()
		result, err := Convert(Input{Service: []File{{"limits.yaml", []byte(service)}}, Envoy: []File{{"rds.yaml", []byte(envoy)}}})
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, service, envoy)
		}
		for _, f := range result.Findings {
			if f.Lost && !strings.Contains(f.Text, "a request without") && !strings.Contains(f.Text, "domain") {
				lost++
				return
			}
		}
		p, err := policy.Parse(result.Policy, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		ours := replay.New(p, replay.Settings{})
		charging := &model{routes: m.routes, limits: m.limits, all: true, counts: map[string]int64{}}
		layout := &accesslog.Layout{Format: "json", HasHost: true, HasClient: true, HasForwardedFor: true, HasStatus: true, Sources: []string{"header:x-user"}}
		now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Unix()
		single := true
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			now += rapid.SampledFrom([]int64{0, 0, 0, 1, 30, 60}).Draw(t, "later")
			q := modelRequest{
				method: rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT"}).Draw(t, "verb"), host: rapid.SampledFrom([]string{"h", "api.example.com"}).Draw(t, "authority"),
				path: rapid.SampledFrom(modelPaths).Draw(t, "path"), user: rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(t, "who"),
				ip: rapid.SampledFrom([]string{"203.0.113.7", "2001:db8::7", "2001:db8::8"}).Draw(t, "from"),
			}
			client := q.ip + ":1"
			if strings.Contains(q.ip, ":") {
				client = "[" + q.ip + "]:1"
			}
			got := ours.Play(&accesslog.Entry{
				TimeMS: now * 1000, Method: q.method, Host: q.host, Path: q.path, Client: client, Status: 200, Layout: layout, Values: []string{q.user},
			}).Outcome != replay.Refused
			want, _ := m.allowed(q, now)
			if got != want {
				t.Fatalf("%+v at %d: passes %t, by the service's rules %t\n%s\n%s\n%s", q, now, got, want, service, envoy, result.Policy)
			}
			charged, limits := charging.allowed(q, now)
			single = single && limits <= 1 && !costs(m)
			if charged && !got || single && charged != got {
				t.Fatalf("%+v at %d: passes %t, by the service that charges what it refuses %t\n%s\n%s\n%s", q, now, got, charged, service, envoy, result.Policy)
			}
			compared++
			if !got {
				refused++
			}
		}
	})
	if refused*50 < compared || lost*2 > compared {
		t.Errorf("of %d requests %d were refused; %d plans could not be carried over: too little was compared", compared, refused, lost)
	}
}

func costs(m *model) bool {
	return slices.ContainsFunc(m.routes, func(r modelRoute) bool {
		return slices.ContainsFunc(r.asks, func(a modelAsk) bool { return a.cost > 1 })
	})
}
