package integration

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/goccy/go-yaml"
)

// byRoutes takes its limits from Envoy's own routes, which Envoy reads from a file while it runs.
var byRoutes = listen("by_routes", `{
	"identities": {"account": {"from": "path:id"}, "username": {"from": "body:username", "fold": true, "secret": true}},
	"routes": {"GET /accounts/:id": {"identity": "all", "limit": 1000, "window": "24h"}},
	"default": {"identity": "all", "limit": 500, "window": "24h", "on_error": "closed"}}`, routesFromFile)

// declaredOnly and bare have the same routes, and nothing beside what those declare.
var (
	declaredOnly = listen("declared_only", `{"undeclared": "refuse"}`, routesFromFile)
	bare         = listen("bare", `{"default": null}`, routesFromFile)
)

func routesFromFile(manager tree) {
	delete(manager, "route_config")
	manager["rds"] = tree{"route_config_name": "by_routes", "config_source": fromFile(routesFile)}
}

// routesWith are Envoy's routes as an operator writes them. More routes, and the limit of an account, are to be filled in.
const routesWith = `
name: by_routes
virtual_hosts:
- name: all
  domains: ["*"]
  routes:%s
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

// publishRoutes gives Envoy its routes, and more before them, and waits until the worker that serves the client has them.
func publishRoutes(t *testing.T, c *client, limit int, more ...string) {
	t.Helper()
	lines := ""
	for _, route := range more {
		lines += "\n  - " + route
	}
	var routes tree
	if err := yaml.Unmarshal(fmt.Appendf(nil, routesWith, lines, limit, limit), &routes); err != nil {
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

// TestMetadataIsReadOnceForARouteAndNotForARequest counts a declaration that cannot be read, each time that it is read.
func TestMetadataIsReadOnceForARouteAndNotForARequest(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, byRoutes, "") // one connection, so one worker
	publishRoutes(t, c, 3)
	c.get("/broken")
	read := total(t, e, "routelimit_route_metadata_refused_total{}")
	for range 50 {
		c.get("/broken")
		c.get("/accounts/7") // another declaration in between
	}
	if n := total(t, e, "routelimit_route_metadata_refused_total{}") - read; read == 0 || n != 0 {
		t.Errorf("read %d times, and %d times more in 100 requests", read, n)
	}
}

func TestUndeclaredRoutesAreRefusedUntilEnvoysRoutesDeclareThem(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, declaredOnly, "")
	publishRoutes(t, c, 3)
	if a := c.get("/added"); a.status != http.StatusNotFound || a.body != `{"error":"undeclared_route"}` {
		t.Errorf("not declared: status %d %s", a.status, a.body)
	}
	if a := c.get("/broken"); a.status != http.StatusNotFound {
		t.Errorf("declared so that nobody can read it: status %d %s", a.status, a.body)
	}
	if a := c.get("/free"); a.status != http.StatusOK {
		t.Errorf("declared without limits: status %d %s", a.status, a.body)
	}
	if n := upstream.get(t).Started(); n != 1 {
		t.Errorf("the upstream saw %d requests, want 1", n)
	}
	publishRoutes(t, c, 4, "{match: {path: /added}, route: {cluster: upstream}, metadata: {filter_metadata: {routelimit: "+
		"{route: GET /added, identity: all, limit: 1, window: 24h, on_error: closed}}}}")
	if err := differ(passThenRefuse(1, 2), statuses(2, func(int) answer { return c.get("/added") })); err != nil {
		t.Errorf("declared by an update: %v", err)
	}
}

func TestADeclarationThatCannotBeReadShutsARouteThatNothingElseLimits(t *testing.T) {
	e := fresh(t)
	c := dial(t, e, bare, "")
	publishRoutes(t, c, 3)
	a := c.get("/broken")
	checkUnavailable(t, a)
	if n := upstream.get(t).Started(); n != 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
	if a := c.get("/other"); a.status != http.StatusOK {
		t.Errorf("a route that declares nothing: status %d %s", a.status, a.body)
	}
	publishRoutes(t, c, 4, "{match: {path: /broken}, route: {cluster: upstream}, metadata: {filter_metadata: {routelimit: "+
		"{route: GET /broken, identity: all, limit: 1, window: 24h, on_error: closed}}}}")
	if err := differ(passThenRefuse(1, 2), statuses(2, func(int) answer { return c.get("/broken") })); err != nil {
		t.Errorf("repaired by an update: %v", err)
	}
}
