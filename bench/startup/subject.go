package main

import (
	"fmt"
	"io"

	"routelimit/bench/stand"
	"routelimit/bootstrap"
	"routelimit/servers"
)

// bench is what is measured on.
type bench struct {
	project  *stand.Project
	redis    *servers.Redis
	settings settings
	progress io.Writer
}

// subject is an Envoy of which something is measured.
type subject struct {
	title  string
	routes int // of routelimit's policy; 0: no limiter at all
}

func subjects() []subject {
	return []subject{{"no limiter", 0}, {"routelimit, 10 routes", 10}, {"routelimit, 10,000 routes", 10_000}}
}

// change makes the configuration of a version, from 0 on. They differ in the policy's limits, or in a timeout where there
// is no policy.
func (s subject) change(version int) func(*bootstrap.Config) error {
	return func(c *bootstrap.Config) error {
		if s.routes == 0 {
			manager, err := stand.Manager(c)
			if err != nil {
				return err
			}
			manager["stream_idle_timeout"] = fmt.Sprintf("%ds", 60+version)
			return stand.Unlimit(c, nil)
		}
		if err := stand.SetProxyTimeout(c, stand.ProxyTimeout); err != nil {
			return err
		}
		return stand.Limit(c, stand.RoutesPolicy(s.routes, stand.LimitOf("user", stand.NeverReached+version, 1)))
	}
}

func (s subject) path() string { return stand.RoutePath(max(0, s.routes-1)) }
