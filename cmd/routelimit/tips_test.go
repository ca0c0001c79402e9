package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"routelimit/policy"
)

// A tip that would not come true is not given.
func TestTipsAreGivenOnlyWhereTheNumbersDecide(t *testing.T) {
	const limits = `"identity": "ip", "limit": 10, "window": "5m"`
	for name, c := range map[string]struct {
		top, login string
		want       int
	}{
		"plain":          {"", limits, 1},
		"shadow mode":    {`"mode": "shadow", `, limits, 0},
		"a shadow limit": {"", limits + `, "shadow": true`, 0},
		"a bucket":       {"", limits + `, "algorithm": "token_bucket", "burst": 3`, 0},
		"a cost":         {"", limits + `, "cost": 2`, 0},
		"a part of all":  {"", limits + `, "enforce_percent": 50`, 0},
		"an exemption":   {"", limits + `, "exempt": ["127.0.0.0/8"]`, 0},
		"nothing passes": {"", `"identity": "ip", "limit": 0, "window": "5m"`, 0},
		"some callers":   {"", limits + `, "exempt": ["127.0.0.1"]`, 0},
	} {
		p, err := policy.Parse([]byte(`{`+c.top+`"routes": {"POST /login": {`+c.login+`}}, "default": null}`), os.LookupEnv)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if list, left := tips(p, ""); len(list) != c.want || left != 1-c.want {
			t.Errorf("%s: %d tips and %d left, want %d", name, len(list), left, c.want)
		}
	}
}

// A tip has in it what the policy reads, and promises no more than the policy does.
func TestTipsAreAboutThePolicy(t *testing.T) {
	const top = `{"identities": {"email": {"from": "body:user.email"}, "name": {"from": "body:name"}, "key": {"from": "header:x-key"}, "tenant": {"from": "query:tenant"},
		"session": {"from": "cookie:session"}, "id": {"from": "path:id"}, "token": {"from": "jwt_unverified:sub"}, "user": {"from": "metadata:envoy.filters.http.jwt_authn/payload/sub"},
		"within": {"from": "body:name.first"}, "quoted": {"from": "body:it's"}}, "routes": {`
	one := func(pattern, identity string) string {
		return `"` + pattern + `": {"identity": "` + identity + `", "limit": 30, "window": "5m"}`
	}
	const base = "http://h"
	for name, c := range map[string]struct {
		routes, token string
		curl, answers string
	}{
		"a nested body": {one("POST /login", "ip+email"), "", `curl -i -H 'content-type: application/json' -d '{"password":"guess","user":{"email":"alice"}}' 'http://h/login'`,
			`401, with X-RateLimit-Remaining counting down: 30 in 5m for one ip+email (limit "ip+email")`},
		"two fields":           {one("PUT /a", "name+email"), "", `curl -i -X PUT -H 'content-type: application/json' -d '{"name":"alice","user":{"email":"alice"}}' 'http://h/a'`, "200, with"},
		"a header":             {one("DELETE /a", "key"), "", `curl -i -X DELETE -H 'x-key: demo-key' 'http://h/a'`, "200, with"},
		"a query and a cookie": {one("GET /a", "tenant+session"), "", `curl -i -H 'cookie: session=demo' 'http://h/a?tenant=demo'`, "200, with"},
		"a path and a host":    {one("* api.example/a/:id/{x}/*", "id"), "", `curl -i -H 'host: api.example' 'http://h/a/1/1/x'`, "200, with"},
		"a token":              {one("POST /orders", "user|ip"), "T", `curl -i -X POST -H 'authorization: Bearer T' 'http://h/orders'`, "201, with"},
		"no token":             {one("POST /orders", "user|ip"), "", `curl -i -X POST 'http://h/orders'`, "201, with"},
		"a loop":               {`"GET /a": {"identity": "ip", "limit": 1, "window": "5m"}`, "", `for i in $(seq 2); do curl -s -o /dev/null -w '%{http_code} ' 'http://h/a'; done; echo`, "200 1 time, from the upstream, then 429"},
		"a short window":       {`"GET /a": {"identity": "ip", "limit": 1, "window": "1s"}`, "", `curl -i 'http://h/a'`, "200, with"},
		"some statuses":        {`"GET /a": {"identity": "ip", "limit": 1, "window": "5m", "count": [401]}`, "", `curl -i 'http://h/a'`, "200, with"},
		"no limit":             {`"GET /a": {"limits": []}`, "", `curl -i 'http://h/a'`, "200, however often"},
		"nobody issues it":     {one("GET /a", "user"), "", "", ""},
		"a token of their own": {one("GET /a", "token"), "", "", ""},
		"a field in a text":    {one("POST /a", "name+within"), "", "", ""},
		"a quote":              {one("POST /a", "quoted"), "", "", ""},
	} {
		p, err := policy.Parse([]byte(top+c.routes+`}, "default": null}`), os.LookupEnv)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, left := tips(p, c.token)
		if c.curl == "" {
			if len(list) != 0 || left != 1 {
				t.Errorf("%s: %+v, %d left", name, list, left)
			}
			continue
		}
		if len(list) != 1 || left != 0 || list[0].curl(base) != c.curl || !strings.HasPrefix(list[0].answers, c.answers) {
			t.Errorf("%s: %d tips, %d left: %+v", name, len(list), left, list)
		}
	}
}

func TestTipsAreBounded(t *testing.T) {
	var routes []string
	for i := range mostTips + 3 {
		routes = append(routes, fmt.Sprintf(`"GET /r%d": {"identity": "ip", "limit": 30, "window": "5m"}`, i))
	}
	p, err := policy.Parse([]byte(`{"routes": {`+strings.Join(routes, ",")+`}, "default": null}`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if list, left := tips(p, ""); len(list) != mostTips || left != 3 {
		t.Errorf("%d tips, %d left", len(list), left)
	}
}
