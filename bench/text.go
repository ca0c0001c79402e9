package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// write shows the report to people.
func (r report) write(out io.Writer) error {
	text := r.head() + align(r.figureRows()) + "\n" + align(r.ratioRows())
	_, err := io.WriteString(out, text)
	return err
}

func (r report) head() string {
	m, v, s := r.Machine, r.Versions, r.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s, %d cores, %s, load %.2f before the start\n", m.CPU, m.Cores, m.System, m.Load)
	fmt.Fprintf(&b, "versions  Envoy %s; %s; %s; %s\n", v.Envoy, v.Redis, v.Wrk, v.Go)
	fmt.Fprintf(&b, "          routelimit.wasm %s\n", v.Module)
	if v.Service != "" {
		fmt.Fprintf(&b, "          envoyproxy/ratelimit %s, with %s\n", v.Service, strings.Join(serviceSettings(), " "))
	}
	fmt.Fprintf(&b, "settings  envoy.yaml without jwt_authn and access log, with a second's time for each decision, %s\n"+
		"          the upstream is a listener of the same Envoy; one identity, one limit, never reached; closed loop\n"+
		"          %s of %d s, columns in turn, after %d s of warm-up each\n",
		plural(s.EnvoyWorkers, "worker"), plural(s.Rounds, "round"), s.Seconds, s.Warmup)
	fmt.Fprintf(&b, "columns   %s: through redis_proxy; %s: straight to one Redis; %s: loaded, without a limit\n\n",
		title(keyProxied), title(keyDirect), title(keyIdle))
	return b.String()
}

// figureRows are the medians, and what of them a limiter added.
func (r report) figureRows() [][]string {
	rows := [][]string{{"medians over the rounds", "p50 us", "p99 us", "requests/s", "added p50", "added p99", "asks Redis",
		"CPU us: Envoy", "Redis", "service"}}
	for _, n := range r.Settings.Connections {
		rows = append(rows, []string{plural(n, "connection")})
		none, compared := r.find(keyNone, n)
		for _, key := range r.Settings.Columns {
			s, _ := r.find(key, n)
			added := []string{"", ""}
			if compared && key != keyNone {
				added = []string{whole(s.P50.Median - none.P50.Median), whole(s.P99.Median - none.P99.Median)}
			}
			rows = append(rows, []string{"  " + title(key), whole(s.P50.Median), whole(s.P99.Median), whole(s.RequestsPerSecond.Median),
				added[0], added[1], fmt.Sprintf("%.2f", s.Decisions.Median),
				fmt.Sprintf("%.1f", s.EnvoyCPU.Median), fmt.Sprintf("%.1f", s.RedisCPU.Median), fmt.Sprintf("%.1f", s.ServiceCPU.Median)})
		}
	}
	return rows
}

func (r report) find(key string, connections int) (summary, bool) {
	at := slices.IndexFunc(r.Summary, func(s summary) bool { return s.Column == key && s.Connections == connections })
	if at < 0 {
		return summary{}, false
	}
	return r.Summary[at], true
}

// ratioRows has a row for each ratio and load, and a cell for each column.
func (r report) ratioRows() [][]string {
	if len(r.Ratios) == 0 {
		return [][]string{{"no ratios: measure also the column " + keyNone + ", and give RATELIMIT_BIN"}}
	}
	columns := slices.DeleteFunc(slices.Clone(r.Settings.Columns), func(key string) bool { return key == keyNone })
	head := []string{"median (least … most)"}
	for _, key := range columns {
		head = append(head, title(key))
	}
	rows := [][]string{append(head, "goal")}
	group := ""
	for i, one := range r.Ratios {
		if against := r.against(one.Name); against != group {
			group = against
			rows = append(rows, []string{group})
		}
		if i == 0 || one.Name != r.Ratios[i-1].Name || one.Connections != r.Ratios[i-1].Connections {
			label := fmt.Sprintf("  %s, %s", one.Name, plural(one.Connections, "connection"))
			rows = append(rows, append([]string{label}, make([]string, len(columns)+1)...))
		}
		row := rows[len(rows)-1]
		row[1+slices.Index(columns, one.Column)] = r.spreadText(one.spread)
		if one.Goal != 0 {
			row[len(row)-1] = fmt.Sprint(one.Goal)
		}
	}
	return rows
}

func (r report) against(name string) string {
	if name == throughput {
		return "against " + title(keyNone)
	}
	return "against " + title(keyService)
}

func (r report) spreadText(s spread) string {
	text := fmt.Sprintf("%.2f (%.2f … %.2f)", s.Median, s.Least, s.Most)
	if s.Rounds < r.Settings.Rounds {
		text += fmt.Sprintf(" in %d", s.Rounds)
	}
	return text
}

func whole(f float64) string { return fmt.Sprintf("%.0f", f) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
