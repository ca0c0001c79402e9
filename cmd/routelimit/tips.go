package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"routelimit/limit"
	"routelimit/policy"
	"routelimit/policy/strictjson"
	"routelimit/servers"
)

// tip is a request to try, with what it will answer.
type tip struct {
	method, path string
	headers      []string // "name: value"
	body         string   // JSON
	times        int
	answers      string
	statuses     []int // of the answers, in order, when the demo upstream is behind; the last one repeats
}

// mostTips bounds what is shown.
const mostTips = 8

// tips are requests for the routes of a policy, with the numbers that the policy gives them, and how many limited routes have
// none. Of the routes without a limit, the first of GET has one.
func tips(p *policy.Policy, token string) (list []tip, left int) {
	unlimited := false
	for _, r := range p.Routes {
		if len(r.Limits) == 0 && (unlimited || !strings.HasPrefix(r.Template, "GET ")) {
			continue
		}
		t, ok := tipFor(p, r, r.Template, token)
		switch {
		case ok && len(list) < mostTips:
			list = append(list, t)
			unlimited = unlimited || len(r.Limits) == 0
		case len(r.Limits) > 0:
			left++
		}
	}
	if d := p.Default; d != nil && len(d.Limits) > 0 && !takesAny(p) {
		if t, ok := tipFor(p, d, "GET /anything/else", token); ok {
			t.answers = "No route of its own, so the default applies: " + t.answers
			list = append(list, t)
		}
	}
	return list, left
}

// takesAny says that a path of no route may be one's all the same.
func takesAny(p *policy.Policy) bool {
	return slices.ContainsFunc(p.Routes, func(r *policy.Route) bool {
		_, path, _ := strings.Cut(r.Template, "/")
		return strings.HasPrefix(path, ":") || strings.HasPrefix(path, "{") || strings.HasPrefix(path, "*")
	})
}

func tipFor(p *policy.Policy, r *policy.Route, pattern, token string) (tip, bool) {
	if !predictable(p, r) {
		return tip{}, false
	}
	t, ok := tipRequest(pattern, r, token)
	if !ok {
		return tip{}, false
	}
	status := demoStatus(&servers.Seen{Method: t.method, Path: t.path, Head: []byte(t.body)})
	t.times, t.statuses = 1, []int{status}
	if len(r.Limits) == 0 {
		t.answers = fmt.Sprintf("%d, however often: this route has no limit", status)
		return t, true
	}
	l := tightest(r)
	if exhaustible(l) {
		t.times = int(l.Limit.Limit) + 1
		t.statuses = append(slices.Repeat([]int{status}, t.times-1), http.StatusTooManyRequests)
		t.answers = fmt.Sprintf("%d %s, from the upstream, then 429 with Retry-After: %s", status, plural(t.times-1, "time"), allowance(l))
	} else {
		t.answers = fmt.Sprintf("%d, with X-RateLimit-Remaining counting down: %s", status, allowance(l))
	}
	if slices.ContainsFunc(t.headers, func(h string) bool { return strings.HasPrefix(h, "authorization: Bearer ") }) {
		t.answers += ". The token names demo-user; spoil a letter in its middle, and Envoy answers 401"
	}
	return t, true
}

// predictable says that the answers of a route follow from the number of its
// tightest limit alone, so that a tip about it comes true.
func predictable(p *policy.Policy, r *policy.Route) bool {
	if p.Mode != policy.Enforce || r.Blocked != nil || len(r.Exempt) > 0 || !r.ExemptCallers.Empty() {
		return false
	}
	return !slices.ContainsFunc(r.Limits, func(l *policy.Limit) bool {
		return l.Shadow || l.Varies() || l.Cost != 1 || l.EnforcePercent != 100 || l.Algorithm == limit.TokenBucket
	})
}

// mostTimes bounds the requests of one tip, and leastWindow the time that they may take.
const (
	mostTimes   = 20
	leastWindow = time.Minute
)

// exhaustible says that a few requests, one after the other, use a limit up for certain.
func exhaustible(l *policy.Limit) bool {
	return l.Limit.Limit <= mostTimes && l.Window >= leastWindow && len(l.Count) == 0 && l.Bucket == ""
}

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
	if usual := map[bool]string{false: "GET", true: "POST"}[t.body != ""]; t.method != usual {
		b.WriteString(" -X " + t.method)
	}
	for _, header := range t.headers {
		b.WriteString(" -H '" + header + "'")
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
