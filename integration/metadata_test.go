package integration

import (
	"fmt"
	"testing"

	"github.com/goccy/go-yaml"
)

// byRoutes takes its limits from Envoy's own routes, which Envoy reads from a file while it runs.
var byRoutes = listen("by_routes", `{
	"identities": {"account": {"from": "path:id"}, "username": {"from": "body:username", "fold": true, "secret": true}},
	"routes": {"GET /accounts/:id": {"identity": "all", "limit": 1000, "window": "24h"}},
	"default": {"identity": "all", "limit": 500, "window": "24h", "on_error": "closed"}}`,
	func(manager tree) {
		delete(manager, "route_config")
		manager["rds"] = tree{"route_config_name": "by_routes", "config_source": fromFile(routesFile)}
	})

// routesWith are Envoy's routes as an operator writes them. The limit of an account is to be filled in.
const routesWith = `
name: by_routes
virtual_hosts:
- name: all
  domains: ["*"]
  routes:
  - match: {prefix: /accounts/}
    route: {cluster: upstream}
    metadata:
      filter_metadata:
        routelimit:
          route: GET /accounts/:id
          on_error: closed
          limits:
          - {name: account, identity: account, limit: %d, window: 24h, algorithm: sliding_log}
          - name: everybody
            identity: all
            limit: 8
            window: 24h
            algorithm: fixed_window
  - match: {path: /signup}
    route: {cluster: upstream}
    metadata: {filter_metadata: {routelimit: {route: POST /signup, identity: username, limit: 2, window: 24h, on_error: closed}}}
  - match: {path: /broken}
    route: {cluster: upstream}
    metadata: {filter_metadata: {routelimit: {route: GET /broken, identity: ip, limit: many, window: 24h}}}
  - match: {path: /free}
    route: {cluster: upstream}
    metadata: {filter_metadata: {routelimit: {route: GET /free, limits: []}}}
  - match: {path: /version}
    direct_response: {status: 200, body: {inline_string: limit %d}}
    metadata: {filter_metadata: {routelimit: {route: GET /version, limits: []}}}
  - match: {prefix: /}
    route: {cluster: upstream}
`

// publishRoutes gives Envoy its routes and waits until the worker that serves the client has them.
func publishRoutes(t *testing.T, c *client, limit int) {
	t.Helper()
	var routes tree
	if err := yaml.Unmarshal(fmt.Appendf(nil, routesWith, limit, limit), &routes); err != nil {
		t.Fatal(err)
	}
	routes["@type"] = routesType
	if err := publish(routesFile, routes); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the routes take effect", func() error {
		if a := c.get("/version"); a.body != fmt.Sprint("limit ", limit) {
			return fmt.Errorf("status %d, body %q", a.status, a.body)
		}
		return nil
	})
}

func TestMetadataOfEnvoysRouteIsEnforcedAndUpdated(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, byRoutes, "")
	publishRoutes(t, c, 3)
	got := statuses(5, func(int) answer { return c.get("/accounts/7") })
	if err := differ(passThenRefuse(3, 5), got); err != nil {
		t.Errorf("limit 3: %v", err)
	}
	checkPassed(t, c.get("/accounts/8"), 3, 2)

	publishRoutes(t, c, 6) // the same connection, the same route
	got = statuses(5, func(int) answer { return c.get("/accounts/7") })
	if err := differ(passThenRefuse(3, 5), got); err != nil {
		t.Errorf("limit 6, 3 used: %v", err)
	}
	if a := c.get("/accounts/9"); a.number("x-ratelimit-limit") != 8 || a.number("x-ratelimit-remaining") != 0 {
		t.Errorf("everybody's limit of 8, 7 used: headers %v", a.header)
	}
	checkRefused(t, c.get("/accounts/10"), 8, day)

	publishRoutes(t, c, 2) // lowered below what was used
	checkRefused(t, c.get("/accounts/7"), 2, day)
}

func TestMetadataRoutesStandBesideTheConfigurations(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, byRoutes, "")
	publishRoutes(t, c, 3)
	got := statuses(3, func(int) answer {
		return c.send("POST", "/signup", `{"username":"hush-judy"}`, "content-type", "application/json")
	})
	if err := differ(passThenRefuse(2, 3), got); err != nil {
		t.Errorf("a limit by the body: %v", err)
	}
	if a := c.get("/free"); a.number("x-ratelimit-limit") != -1 {
		t.Errorf("a route without limits: headers %v", a.header)
	}
	checkPassed(t, c.get("/other"), 500, 499)

	// Metadata that is wrong limits by the configuration instead, and says so.
	before, refused := len(e.Log()), total(t, e, "routelimit_route_metadata_refused_total{}")
	checkPassed(t, c.get("/broken"), 500, 498)
	if total(t, e, "routelimit_route_metadata_refused_total{}") == refused || logged(e, before, `metadata.routelimit.limit: "many"`) != 1 {
		t.Errorf("neither counted nor logged: %s", e.Log()[before:])
	}
}
