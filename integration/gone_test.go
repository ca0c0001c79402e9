package integration

import (
	"fmt"
	"net"
	"testing"
)

// waits has a route that asks for one key and one that reads a body first, on the patient link.
var waits = listen("waits", `{
	"identities": {"username": {"from": "body:username", "secret": true}},
	"routes": {"POST /login": {"identity": "username", "limit": 100000, "window": "24h", "on_error": "closed"}},
	"default": {"limits": [
		{"name": "all", "identity": "all", "limit": 100000, "window": "24h"},
		{"name": "address", "identity": "ip", "limit": 100000, "window": "24h"}], "on_error": "closed"}}`)

// TestG35ClientsThatGoWhileRedisIsAsked closes hundreds of connections at each stage of a request while Redis is frozen.
// Then Redis answers for those that have gone, and everybody else is served.
func TestG35ClientsThatGoWhileRedisIsAsked(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, waits, "")
	c.get("/") // opens the link
	vms, connected := stat(t, e, "wasm.envoy.wasm.runtime.v8.created"), stat(t, e, "http.waits.downstream_cx_active")
	requests := stat(t, e, "http.waits.downstream_rq_total")

	resume := pause(t)
	const each = 200
	whole := loginText(`{"username":"hush-k"}`)
	var gone []net.Conn
	for range each {
		for _, text := range []string{
			"GET / HTTP/1.1\r\nhost: a\r\n\r\n",
			whole,
			whole[:len(whole)-3], // never sent to its end
		} {
			conn := c.connect()
			fmt.Fprint(conn, text)
			gone = append(gone, conn)
		}
	}
	stay := make(chan answer)
	go func() {
		a, err := c.try("GET", "/", "")
		if err != nil {
			t.Error(err)
		}
		stay <- a
	}()
	eventually(t, "Envoy has all requests", func() error {
		if n := stat(t, e, "http.waits.downstream_rq_total") - requests; n != 3*each+1 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	for _, conn := range gone {
		conn.Close()
	}
	eventually(t, "Envoy notices that they have gone", func() error {
		if n := stat(t, e, "http.waits.downstream_cx_active") - connected; n != 0 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
	resume()
	if a := <-stay; a.status != 200 {
		t.Errorf("the request that stayed: status %d %s", a.status, a.body)
	}
	for i := range 100 {
		if a := c.get("/"); a.status != 200 || a.number("x-ratelimit-limit") != 100000 {
			t.Fatalf("request %d afterwards: status %d, headers %v", i, a.status, a.header)
		}
	}
	if n := upstream.get(t).Started(); n != 102 {
		t.Errorf("the upstream saw %d requests, want 102: nothing of those that have gone", n)
	}
	if n := stat(t, e, "wasm.envoy.wasm.runtime.v8.created"); n != vms {
		t.Errorf("%d VMs were made, %d before: one died", n, vms)
	}
}
