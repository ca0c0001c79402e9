package integration

import (
	"net/http"
	"strings"
	"testing"
)

// TestG33OddRequestsHarmNobody sends what clients seldom send. Whatever it gets, the next request is served, and no VM
// died of it.
func TestG33OddRequestsHarmNobody(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, journey, "127.0.0.16")
	vms := stat(t, e, "wasm.envoy.wasm.runtime.v8.created")
	for name, text := range map[string]string{
		"no API key":                "GET /api/search HTTP/1.1\r\nhost: a\r\n\r\n",
		"an empty API key":          "GET /api/search HTTP/1.1\r\nhost: a\r\nx-api-key:\r\n\r\n",
		"an API key of all bytes":   "GET /api/search HTTP/1.1\r\nhost: a\r\nx-api-key: \x80\xff\xc3(\r\n\r\n",
		"an API key of 50 KB":       "GET /api/search HTTP/1.1\r\nhost: a\r\nx-api-key: " + strings.Repeat("hush", 12500) + "\r\n\r\n",
		"90 headers":                "GET / HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x-more: 1\r\n", 88) + "\r\n",
		"200 headers":               "GET / HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x-more: 1\r\n", 200) + "\r\n",
		"a path of 50 KB":           "GET /" + strings.Repeat("a/", 25000) + " HTTP/1.1\r\nhost: a\r\n\r\n",
		"a path of escapes":         "GET /" + strings.Repeat("%2e%2e/%zz%", 100) + " HTTP/1.1\r\nhost: a\r\n\r\n",
		"a method of 1000 letters":  strings.Repeat("M", 1000) + " / HTTP/1.1\r\nhost: a\r\n\r\n",
		"no host":                   "GET / HTTP/1.1\r\n\r\n",
		"JSON nested deeply":        loginText(strings.Repeat("[", 10000)),
		"JSON of invalid UTF-8":     loginText("{\"username\":\"\xff\xfe\"}"),
		"JSON of a lone surrogate":  loginText(`{"username":"\ud800"}`),
		"a username of NULs":        loginText(`{"username":"\u0000\u0000"}`),
		"a username that is a list": loginText(`{"username":["hush"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			if a := c.raw(text); a.status >= 500 {
				t.Errorf("status %d %s", a.status, a.body)
			}
			if a := c.get("/other"); a.status != http.StatusOK || decided(a) != nil {
				t.Errorf("the next request: status %d %s", a.status, a.body)
			}
		})
	}
	if n := stat(t, e, "wasm.envoy.wasm.runtime.v8.created"); n != vms {
		t.Errorf("%d VMs were made, %d before", n, vms)
	}
}

// lenient takes what a listener as shipped refuses before any filter sees it.
var lenient = listen("lenient", `{"identities": {"key": {"from": "header:x-key", "secret": true}},
	"default": {"identity": "key|ip", "limit": 1000, "window": "24h", "on_error": "closed"}}`, func(manager tree) {
	manager["max_request_headers_kb"] = 512
	manager["common_http_protocol_options"].(tree)["max_headers_count"] = 1000
	manager["http_protocol_options"] = tree{"allow_custom_methods": true}
})

// TestG33OddRequestsAreDecidedWhereEnvoyLetsThemThrough: the filter has seen each of them, as its headers show, and
// so has the upstream.
func TestG33OddRequestsAreDecidedWhereEnvoyLetsThemThrough(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, lenient, "127.0.0.17")
	var high strings.Builder
	for b := 0x80; b <= 0xff; b++ {
		high.WriteByte(byte(b))
	}
	vms := stat(t, e, "wasm.envoy.wasm.runtime.v8.created")
	for name, tt := range map[string]struct{ text, key string }{
		"no key":                   {"GET / HTTP/1.1\r\nhost: a\r\n\r\n", "ip:127.0.0.17"},
		"an empty key":             {"GET / HTTP/1.1\r\nhost: a\r\nx-key:\r\n\r\n", "ip:127.0.0.17"},
		"a key of 0x80 to 0xff":    {"GET / HTTP/1.1\r\nhost: a\r\nx-key: " + high.String() + "\r\n\r\n", "key:" + hashed(high.String())},
		"a name of 0x80 to 0xff":   {"GET / HTTP/1.1\r\nhost: a\r\nx-other: " + high.String() + "\r\n\r\n", "ip:127.0.0.17"},
		"200 headers":              {"GET / HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x-more: 1\r\n", 200) + "x-key: k\r\n\r\n", "key:" + hashed("k")},
		"900 headers":              {"GET / HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x-more: 1\r\n", 900) + "x-key: k\r\n\r\n", "key:" + hashed("k")},
		"a path of 64 KB":          {"GET /" + strings.Repeat("a/", 32<<10) + " HTTP/1.1\r\nhost: a\r\nx-key: k\r\n\r\n", "key:" + hashed("k")},
		"a query of 64 KB":         {"GET /?" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nhost: a\r\nx-key: k\r\n\r\n", "key:" + hashed("k")},
		"a key of 64 KB":           {"GET / HTTP/1.1\r\nhost: a\r\nx-key: " + strings.Repeat("hush", 16<<10) + "\r\n\r\n", "key:" + hashed(strings.Repeat("hush", 16<<10))},
		"headers of 300 KB":        {"GET / HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x-more: "+strings.Repeat("m", 1000)+"\r\n", 300) + "x-key: k\r\n\r\n", "key:" + hashed("k")},
		"a method of 1000 letters": {strings.Repeat("M", 1000) + " / HTTP/1.1\r\nhost: a\r\nx-key: k\r\n\r\n", "key:" + hashed("k")},
	} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			for i := range 2 {
				if a := c.raw(tt.text); a.status != http.StatusOK || a.number("x-ratelimit-remaining") != 999-i {
					t.Fatalf("status %d %.200s, headers %v", a.status, a.body, a.header)
				}
			}
			if err := differ([]string{"rl:{default|" + tt.key + "}"}, keysNow(t)); err != nil {
				t.Error(err)
			}
			if a := c.get("/other"); a.status != http.StatusOK || decided(a) != nil {
				t.Errorf("the next request: status %d %s", a.status, a.body)
			}
		})
	}
	if n := stat(t, e, "wasm.envoy.wasm.runtime.v8.created"); n != vms {
		t.Errorf("%d VMs were made, %d before", n, vms)
	}
}
