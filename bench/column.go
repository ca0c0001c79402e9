package main

import (
	"routelimit/bootstrap"
	"routelimit/servers"
)

const (
	keyNone    = "none"
	keyIdle    = "idle"
	keyProxied = "routelimit"
	keyDirect  = "direct"
	keyService = "ratelimit"
)

// column is one way to limit, or none, with an Envoy of its own.
type column struct {
	key, title string
	// counts says that each request is one decision in Redis, and that the probe is refused over its limit.
	counts bool
	// configure makes of envoy.yaml what this column needs.
	configure func(*bootstrap.Config, backends) error

	envoy *servers.Envoy // runs from startRig to stop
	url   string         // of its public listener
}

// backends are what the columns share.
type backends struct {
	redis   string // host:port
	service string // host:port of envoyproxy/ratelimit's gRPC port; "" without it
}

// allColumns are the columns in the order in which they are shown: no limiter; the module with nothing to decide; the
// module through redis_proxy; the module with its gateway leading to Redis itself; Envoy's own filter and its service.
func allColumns() []*column {
	return []*column{
		{key: keyNone, title: "no limiter", configure: configureNone},
		{key: keyIdle, title: "routelimit, idle", configure: configureIdle},
		{key: keyProxied, title: "routelimit", counts: true, configure: configureProxied},
		{key: keyDirect, title: "routelimit, direct", counts: true, configure: configureDirect},
		{key: keyService, title: "envoyproxy/ratelimit", counts: true, configure: configureService},
	}
}

func keys(columns []*column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.key)
	}
	return list
}

// title is what people read of a column.
func title(key string) string {
	for _, c := range allColumns() {
		if c.key == key {
			return c.title
		}
	}
	return key
}
