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
