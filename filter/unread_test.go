//go:build !wasip1

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hosttest "routelimit/host-test"
)

// accountLogin limits logins by account alone: the hole would be a request
// that falls to its own address.
const accountLogin = `{"body": {"timeout": "300ms"},
	"identities": {"username": {"from": "body:username", "fold": true}},
	"routes": {"POST /login": {"limits": [{"name": "account", "identity": "username", "limit": 3, "window": "1h"}]}}, "default": null}`

// multipartLogin is a form with the boundary "b".
const multipartLogin = "--b\r\ncontent-disposition: form-data; name=\"username\"\r\n\r\nalice\r\n--b--\r\n"

// Whoever can send from many addresses must not get around the limit of an
// account by a body that the filter cannot read and the upstream can.
func TestUnreadableBodiesFromManyAddressesShareTheLimitOfOneAccount(t *testing.T) {
	const body = `{"username":"alice"}`
	for name, c := range map[string]struct {
		contentType, body string
		lines             []string
		slow              bool // the body's end comes after its deadline
	}{
		"gzip":                {contentType: jsonType, body: "\x1f\x8b\x08\x00\x00\x00\x00\x00", lines: []string{"content-encoding", "gzip"}},
		"JSON called gRPC":    {contentType: "application/grpc", body: body},
		"repeated field":      {contentType: jsonType, body: `{"username":"bob","username":"alice"}`},
		"repeated form field": {contentType: formType, body: "username=bob&username=alice"},
		"over max_bytes":      {contentType: jsonType, body: `{"username":"alice"` + strings.Repeat(" ", 16<<10) + `}`},
		"slow":                {contentType: jsonType, body: body, slow: true},
		"multipart":           {contentType: "multipart/form-data; boundary=b", body: multipartLogin},
	} {
		t.Run(name, func(t *testing.T) {
			r := onRedis(t, accountLogin)
			send := func(address int, contentType, body string, slow bool, lines ...string) *hosttest.Stream {
				s := r.plugin.NewStream()
				s.SetProperty(fmt.Appendf(nil, "198.51.100.%d:40000", address), "source", "address")
				s.SendHeaders(hosttest.RequestHeaders("POST", "h", "/login", append([]string{"content-type", contentType}, lines...)...), false)
				if slow {
					s.SendBody([]byte(body[:5]), false)
					r.advance(330 * ms)
					body = body[5:]
				}
				s.SendBody([]byte(body), true)
				r.deliver()
				return s
			}
			for i := range 12 {
				want := "passed"
				if i >= 3 {
					want = "429"
				}
				r.want(want, send(i, c.contentType, c.body, c.slow, c.lines...), "request", i)
			}
			r.want("passed", send(100, jsonType, body, false), "a body of alice that can be read")
			r.wantCounter(0, r.counter("routelimit_identity_total", "kind", "no_identity"), "no_identity")
			r.advance(2 * time.Hour)
			r.want("passed", send(101, c.contentType, c.body, c.slow, c.lines...), "when the window is over")
		})
	}
}
