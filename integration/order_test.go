package integration

import (
	"fmt"
	"strings"
	"testing"
)

// orders are listeners whose policies have the same three routes in every order.
var orders = func() (list []*place) {
	routes := []string{
		`"GET /users/:id": {"identity": "all", "limit": 100, "window": "24h"}`,
		`"GET /users/me": {"identity": "all", "limit": 2, "window": "24h"}`,
		`"GET /users/*": {"identity": "all", "limit": 50, "window": "24h"}`,
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		text := fmt.Sprintf(`{"redis": {"cluster": "%s_routelimit", "timeout": "10s"}, "routes": {%s, %s, %s}, "default": null}`,
			patient, routes[order[0]], routes[order[1]], routes[order[2]])
		list = append(list, listen(strings.ReplaceAll(fmt.Sprintf("order%v", order), " ", "_"), "{}", func(manager tree) {
			pluginOf(manager).SetConfiguration(text) // as it stands: a map would sort the routes
		}))
	}
	return list
}()

func TestG12_TheOrderOfRoutesDoesNotMatter(t *testing.T) {
	e := fresh(t)
	for _, p := range orders {
		flush(t, store.get(t))
		c := dial(t, e, p, "")
		for i := range 3 {
			if a := c.get("/users/me"); i < 2 {
				checkPassed(t, a, 2, 1-i)
			} else {
				checkRefused(t, a, 2, 2*day)
			}
		}
		checkPassed(t, c.get("/users/7"), 100, 99)
		checkPassed(t, c.get("/users/7/orders"), 50, 49)
		got := map[string]counts{}
		for _, key := range keysNow(t) {
			got[key] = stored(t, store.get(t).Client(), key)
		}
		if err := differ(map[string]counts{
			"rl:{GET:/users/me|all}":  {"w86400": 2},
			"rl:{GET:/users/:id|all}": {"w86400": 1},
			"rl:{GET:/users/*|all}":   {"w86400": 1},
		}, got); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}
