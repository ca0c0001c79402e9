package main

import (
	"fmt"
	"io"
)

// describe says what runs where, and what to try.
func (s *stage) describe(out io.Writer) {
	base := "http://" + s.public
	fmt.Fprintln(out)
	fmt.Fprintf(out, "envoy     %s\n", base)
	fmt.Fprintf(out, "          admin page %s, metrics %s/stats/prometheus\n", s.envoy.AdminURL(), s.envoy.AdminURL())
	fmt.Fprintf(out, "          policy in %s, log in %s\n", s.flags.config, s.envoy.LogFile())
	if s.upstream != nil {
		fmt.Fprintf(out, "upstream  %s  (demo; the right password at /login is %q)\n", s.upstream.URL(), demoPassword)
	} else {
		fmt.Fprintf(out, "upstream  %s  (given; statuses below are the demo's, yours may answer otherwise)\n", s.flags.upstream)
	}
	if s.redis != nil {
		fmt.Fprintf(out, "redis     %s  (started, empty, gone with Ctrl-C)\n", s.redis.Addr())
	} else {
		fmt.Fprintf(out, "redis     %s\n", s.given.describe())
		if s.given.warning != "" {
			fmt.Fprintf(out, "          WARNING: %s\n", s.given.warning)
		}
	}
	list := tips(s.policy, s.token)
	if len(list) == 0 {
		fmt.Fprintf(out, "\nWhat a request gets under this policy, routelimit explain says.\n")
	} else {
		fmt.Fprintf(out, "\nTry, in another terminal:\n\n")
	}
	for _, t := range list {
		fmt.Fprintf(out, "  %s\n      %s\n\n", t.curl(base), t.answers)
	}
	fmt.Fprintln(out, "Ctrl-C ends everything.")
}
