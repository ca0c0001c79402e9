package main

import (
	"fmt"
	"strings"

	"routelimit/bench/figure"
	"routelimit/bench/stand"
)

// overshootText shows the outcomes to people.
func overshootText(m stand.Machine, v stand.Versions, s settings, outcomes []outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s, %d cores, %s, load %.2f before the start\n", m.CPU, m.Cores, m.System, m.Load)
	fmt.Fprintf(&b, "versions  Envoy %s; %s; %s; routelimit.wasm %s\n", v.Envoy, v.Redis, v.Go, v.Module)
	if v.Service != "" {
		fmt.Fprintf(&b, "          envoyproxy/ratelimit %s, with %s\n", v.Service, strings.Join(overshootServiceSettings(), " "))
	}
	fmt.Fprintf(&b, "settings  %d Envoys of %s, %d connections to each, one identity, limit %d, %s\n\n",
		overshootEnvoys, figure.Plural(s.EnvoyWorkers, "worker"), overshootConnections, overshootLimit, figure.Plural(s.Rounds, "round"))
	return b.String() + figure.Align(overshootRows(outcomes))
}

func overshootRows(outcomes []outcome) [][]string {
	rows := [][]string{{"", "asked", "admitted a round", "over", "most in a window's length"}}
	attack := ""
	for _, o := range outcomes {
		if o.Attack != attack {
			attack = o.Attack
			rows = append(rows, []string{attack})
		}
		admitted := figure.Whole(o.Admitted.Least)
		if o.Admitted.Most != o.Admitted.Least {
			admitted += " … " + figure.Whole(o.Admitted.Most)
		}
		rows = append(rows, []string{"  " + o.Contender, fmt.Sprint(o.Asked), admitted, fmt.Sprint(o.Over), fmt.Sprint(o.MostInWindow)})
	}
	return rows
}
