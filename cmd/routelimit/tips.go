package main

import (
	"fmt"
	"net/http"
	"strings"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/strictjson"
)

// tip is a request to try, with what it will answer.
type tip struct {
	method, path string
	header       string // "name: value"; "" for none
	body         string
	times        int
	answers      string
	statuses     []int // of the answers, in order, when the demo upstream is behind; the last one repeats
}

// tips are requests for those routes of envoy.yaml that a policy has, with the numbers that the policy gives them.
func tips(p *policy.Policy, token string) []tip {
	var list []tip
	for _, r := range p.Routes {
		if !predictable(p, r) {
			continue
		}
		if t, ok := tipFor(r, token); ok {
			list = append(list, t)
		}
	}
	if d := p.Default; d != nil && len(d.Limits) > 0 && predictable(p, d) {
		list = append(list, tip{
			method: "GET", path: "/anything/else", times: 1, statuses: []int{200},
			answers: "200. No route of its own, so the default applies: " + allowance(tightest(d)),
		})
	}
	return list
}

func tipFor(r *policy.Route, token string) (tip, bool) {
	if len(r.Limits) == 0 {
		_, path, _ := strings.Cut(r.Template, " ")
		return tip{method: "GET", path: path, times: 1, statuses: []int{200}, answers: "200, however often: this route has no limit"},
			r.Template == "GET /healthz"
	}
	l := tightest(r)
	t := tip{times: 1}
	switch r.Template {
	case "POST /login":
		t.method, t.path, t.body = "POST", "/login", `{"username":"alice","password":"guess"}`
		t.times = int(l.Limit.Limit) + 1
		t.answers = fmt.Sprintf("401 %d times, from the upstream, then 429 with Retry-After: %s", t.times-1, allowance(l))
		for range t.times - 1 {
			t.statuses = append(t.statuses, http.StatusUnauthorized)
		}
		t.statuses = append(t.statuses, http.StatusTooManyRequests)
	case "GET /api/search":
		t.method, t.path, t.header = "GET", "/api/search?q=x", "x-api-key: demo-key"
		t.answers = "200, with X-RateLimit-Remaining counting down: " + allowance(l)
		t.statuses = []int{200}
	case "POST /orders":
		t.method, t.path = "POST", "/orders"
		t.answers = "201: " + allowance(l)
		t.statuses = []int{201}
		if token != "" {
			t.header = "authorization: Bearer " + token
			t.answers += ". The token names demo-user; spoil a letter in its middle, and Envoy answers 401"
		}
	default:
		return tip{}, false
	}
	return t, true
}

// predictable says that the answers of a route follow from the number of its
// tightest limit alone, so that a tip about it comes true.
func predictable(p *policy.Policy, r *policy.Route) bool {
	if p.Mode != policy.Enforce || r.Blocked != nil || len(r.Exempt) > 0 {
		return false
	}
	for _, l := range r.Limits {
		if l.Shadow || l.Varies() || l.Cost != 1 || l.Algorithm == limit.TokenBucket {
			return false
		}
	}
	return len(r.Limits) == 0 || len(tightest(r).Count) == 0 && tightest(r).Limit.Limit <= mostTimes || r.Template != "POST /login"
}

// mostTimes bounds the requests of one tip.
const mostTimes = 100

// tightest is the enforced limit of a route with the smallest number.
func tightest(r *policy.Route) *policy.Limit {
	least := r.Limits[0]
	for _, l := range r.Limits {
		if l.Limit.Limit < least.Limit.Limit {
			least = l
		}
	}
	return least
}

// allowance is a limit in words: 10 in 5m for one ip+username (limit "pair").
func allowance(l *policy.Limit) string {
	return fmt.Sprintf("%d in %s for one %s (limit %q)", l.Limit.Limit, strictjson.FormatDuration(l.Window), l.Identity, l.Name)
}

// curl is the command line.
func (t tip) curl(base string) string {
	var b strings.Builder
	b.WriteString("curl -i")
	if t.times > 1 {
		b.Reset()
		fmt.Fprintf(&b, "for i in $(seq %d); do curl -s -o /dev/null -w '%%{http_code} '", t.times)
	}
	if t.method != "GET" && t.body == "" {
		b.WriteString(" -X " + t.method)
	}
	if t.header != "" {
		b.WriteString(" -H '" + t.header + "'")
	}
	if t.body != "" {
		b.WriteString(" -H 'content-type: application/json' -d '" + t.body + "'")
	}
	b.WriteString(" '" + base + t.path + "'")
	if t.times > 1 {
		b.WriteString("; done; echo")
	}
	return b.String()
}
