package main

import (
	"encoding/json"
	"net/http"
	"net/url"
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
		if passwordIn(s.Head) != demoPassword {
			return http.StatusUnauthorized
		}
	case "POST /orders":
		return http.StatusCreated
	}
	return http.StatusOK
}

// passwordIn reads JSON or a form, whichever it is; "" where there is none.
func passwordIn(body []byte) string {
	var login struct{ Password string }
	if json.Unmarshal(body, &login) == nil {
		return login.Password
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return form.Get("password")
}
