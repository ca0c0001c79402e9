package main

import (
	"net/http"

	"routelimit/bench/load"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// Columns by which others are judged have keys.
const (
	keyNone    = "none"
	keyIdle    = "idle"
	keyProxied = "routelimit"
	keyLease   = "lease"
	keyDeny    = "deny"
)

// asking is how often a column asks Redis.
type asking int

const (
	never  asking = iota // not once
	always               // once for each request
	seldom               // now and then
	leased               // now and then, and to give back what was left: for a caller that comes once, twice
)

// column is one way to limit, or none, with an Envoy of its own. To add one, add it to allColumns.
type column struct {
	key, title string
	about      string // for the report's head
	// limits says that the probe is refused over its limit.
	limits bool
	asks   asking
	status int  // that every measured request gets; 0: 200
	hot    bool // measured with one caller alone
	// service are settings of the envoyproxy/ratelimit that it needs; nil: it needs none.
	service []string
	bridged bool // a bridge stands before Redis
	// policy is routelimit's; nil: another limiter.
	policy func(headers bool) string
	// configure makes of envoy.yaml what this column needs.
	configure func(*bootstrap.Config, backends) error

	envoy  *servers.Envoy // runs from startRig to stop
	served *service       // likewise: the service, or the bridge; nil without
	addr   string         // of its public listener
}

// backends are what an Envoy's configuration leads to.
type backends struct {
	redis   string // host:port
	service string // host:port of the gRPC port of envoyproxy/ratelimit or the bridge; "" without it
	headers bool   // quota headers on passed responses, of whoever limits
}

// allColumns are the columns in the order in which they are shown.
func allColumns() []*column {
	return []*column{
		{key: keyNone, title: "no limiter", configure: configureNone},
		{key: keyIdle, title: "routelimit, idle", about: "loaded, without a limit", policy: idlePolicy, configure: configureProxied(idlePolicy)},
		{key: "local", title: "Envoy's local_ratelimit", about: "each Envoy for itself: a bucket for all callers, one for the probe",
			limits: true, configure: configureLocal},
		{key: keyProxied, title: "routelimit", about: "through redis_proxy",
			limits: true, asks: always, policy: askingPolicy, configure: configureProxied(askingPolicy)},
		{key: "direct", title: "routelimit, direct", about: "straight to one Redis",
			limits: true, asks: always, policy: askingPolicy, configure: configureDirect},
		{key: "bridge", title: "routelimit, bridge", about: "through routelimit bridge, a process of its own",
			limits: true, asks: always, bridged: true, policy: askingPolicy, configure: configureBridged},
		{key: keyLease, title: "routelimit, leased", about: "through redis_proxy, with \"lease\": \"auto\"",
			limits: true, asks: leased, policy: leasePolicy, configure: configureProxied(leasePolicy)},
		{key: keyDeny, title: "routelimit, refusing", about: "from the deny cache: the upstream is not asked either",
			limits: true, asks: seldom, status: http.StatusTooManyRequests, hot: true, policy: denyPolicy, configure: configureProxied(denyPolicy)},
		{key: "ratelimit", title: "envoyproxy/ratelimit", about: "each request's commands at once",
			limits: true, asks: always, service: []string{}, configure: configureService},
		{key: "ratelimit-window", title: "the same, pipelined", about: "envoyproxy/ratelimit, commands gathered for 150 us or 16 of them",
			limits: true, asks: always, service: []string{"REDIS_PIPELINE_WINDOW=150us", "REDIS_PIPELINE_LIMIT=16"}, configure: configureService},
	}
}

// answers is the status that every measured request gets.
func (c *column) answers() int {
	if c.status != 0 {
		return c.status
	}
	return http.StatusOK
}

// takes says whether a column is measured under a load.
func (c *column) takes(l loading) bool { return !c.hot || l.Identities == load.Hot }

func keys(columns []*column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.key)
	}
	return list
}

// find is the column with a key, or one that shows the key.
func find(key string) *column {
	for _, c := range allColumns() {
		if c.key == key {
			return c
		}
	}
	return &column{key: key, title: key}
}

func title(key string) string { return find(key).title }

// isService says that a column is what routelimit is compared with.
func isService(key string) bool { return find(key).service != nil }
