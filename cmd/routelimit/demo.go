package main

import (
	"encoding/json"
	"net/http"
	"strings"

	"routelimit/servers"
)

// demoPassword is the one that the demo upstream's login takes, for every username.
const demoPassword = "correct"

// startDemo runs an upstream that answers as an API might: a login that refuses wrong passwords, orders that are created. An
// empty address is a free port on loopback.
func startDemo(addr string) (*servers.Upstream, error) {
	return servers.StartUpstream(servers.UpstreamOptions{Addr: addr, Status: demoStatus})
}

func demoStatus(s *servers.Seen) int {
	path, _, _ := strings.Cut(s.Path, "?")
	switch s.Method + " " + path {
	case "POST /login":
		var login struct{ Password string }
		if json.Unmarshal(s.Head, &login) != nil || login.Password != demoPassword {
			return http.StatusUnauthorized
		}
	case "POST /orders":
		return http.StatusCreated
	}
	return http.StatusOK
}
