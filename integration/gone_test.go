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
	r := store.get(t)
	c := dial(t, e, waits, "")
	c.get("/") // opens the link
	stats := func(name string) int64 {
		t.Helper()
		all, err := e.Stats(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return all[name]
	}
	vms, connected := stats("wasm.envoy.wasm.runtime.v8.created"), stats("http.waits.downstream_cx_active")
	requests := stats("http.waits.downstream_rq_total")

	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Resume() })
	const each = 200
	login := `{"username":"hush-k"}`
	var gone []net.Conn
	for range each {
		for _, text := range []string{
			"GET / HTTP/1.1\r\nhost: a\r\n\r\n",
			fmt.Sprintf("POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(login), login),
			fmt.Sprintf("POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(login), login[:3]),
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
		if n := stats("http.waits.downstream_rq_total") - requests; n != 3*each+1 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	for _, conn := range gone {
		conn.Close()
	}
	eventually(t, "Envoy notices that they have gone", func() error {
		if n := stats("http.waits.downstream_cx_active") - connected; n != 0 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
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
	if n := stats("wasm.envoy.wasm.runtime.v8.created"); n != vms {
		t.Errorf("%d VMs were made, %d before: one died", n, vms)
	}
}
