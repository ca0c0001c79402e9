package main

import (
	"fmt"
	"io"

	"routelimit/live"
)

// describe says what runs where, and what to try.
func (s *stage) describe(out io.Writer) {
	base := "http://" + s.public
	fmt.Fprintln(out)
	for _, f := range s.facts() {
		fmt.Fprintf(out, "%-9s %s\n", f.Name, f.Value)
	}
	if s.page != nil {
		fmt.Fprintf(out, "%-9s %s\n", "live page", s.page.URL())
	}
	for _, w := range s.warnings {
		fmt.Fprintf(out, "\nWARNING: %s\n", w)
	}
	list, left := tips(s.policy, s.token)
	if len(list) == 0 {
		fmt.Fprintf(out, "\nWhat a request gets under this policy, routelimit explain says.\n")
	} else {
		fmt.Fprintf(out, "\nTry, in another terminal:\n\n")
	}
	for _, t := range list {
		fmt.Fprintf(out, "  %s\n      %s\n\n", t.curl(base), t.answers)
	}
	if len(list) > 0 && left > 0 {
		fmt.Fprintf(out, "%s with limits %s not shown: routelimit explain says what a request to one gets.\n\n", plural(left, "more route"), map[bool]string{true: "is", false: "are"}[left == 1])
	}
	fmt.Fprintln(out, "Ctrl-C ends everything.")
}

// facts are what runs where.
func (s *stage) facts() []live.Fact {
	var list []live.Fact
	add := func(name, format string, args ...any) {
		list = append(list, live.Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	add(s.flags.engine, "http://%s", s.public)
	if s.admin != "" {
		add("", "admin page %s, metrics %s/stats/prometheus", s.admin, s.admin)
	} else {
		add("", "the module without Envoy: no other HTTP filter runs, and nobody verifies tokens")
	}
	add("", "policy in %s, log in %s", s.flags.config, s.engine.LogFile())
	if s.upstream != nil {
		add("upstream", "%s  (demo; the right password at /login is %q)", s.upstream.URL(), demoPassword)
	} else {
		add("upstream", "%s  (given; statuses below are the demo's, yours may answer otherwise)", s.flags.upstream)
	}
	if s.redis != nil {
		add("redis", "%s  (started, empty, gone with Ctrl-C)", s.redis.Addr())
	} else {
		add("redis", "%s", s.given.describe())
	}
	return list
}
