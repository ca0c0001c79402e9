package integration

import (
	"net/http"
	"testing"
)

const loginPolicy = `{"routes": {"GET /login": {"identity": "all", "limit": 3, "window": "24h", "on_error": "closed"}},
	"default": {"identity": "all", "limit": 1000, "window": "24h", "on_error": "closed"}}`

var (
	normalized = listen("normalized", loginPolicy) // as shipped
	verbatim   = listen("verbatim", loginPolicy, func(manager tree) {
		manager["normalize_path"] = false
		manager["merge_slashes"] = false
		manager["path_with_escaped_slashes_action"] = "KEEP_UNCHANGED"
	})
)

func TestG09SpellingsOfOnePathShareItsLimit(t *testing.T) {
	e := fresh(t)
	spellings := []string{
		"/login", "/login/", "//login", "/login?x=1", "/./login", "/x/../login", "/%6Cogin", "/%6cogin",
		"/x/%2e%2e/login", "/login//", "/login/.", `/x\..\login`, "/login#x",
		"/login;x=1", "/login;jsessionid=0A1B", "/x/..;/login", "/;x/login/",
	}
	for name, at := range map[string]*place{"Envoy normalizes": normalized, "Envoy does not": verbatim} {
		t.Run(name, func(t *testing.T) {
			flush(t, store.get(t))
			c := dial(t, e, at, "")
			first := func(i int) answer { return c.raw("GET " + spellings[i] + " HTTP/1.1\r\nhost: a\r\n\r\n") }
			passed := 0
			for i, spelling := range spellings {
				switch a := first(i); {
				case a.status == http.StatusOK && passed < 3:
					passed++
				case a.status == http.StatusTooManyRequests && passed == 3:
				case a.status == http.StatusBadRequest: // Envoy's own: it never reached a limit, nor the upstream
					t.Logf("%s: refused by Envoy", spelling)
				default:
					t.Errorf("%s: status %d after %d have passed", spelling, a.status, passed)
				}
			}
			if a := c.get("/LOGIN"); a.status != http.StatusOK || a.number("x-ratelimit-limit") != 1000 {
				t.Errorf("/LOGIN is another path: status %d, headers %v", a.status, a.header)
			}
			if err := differ([]string{"rl:{GET:/login|all}", "rl:{default|all}"}, keysNow(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
