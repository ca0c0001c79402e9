package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"routelimit/bench/figure"
)

// write shows the report to people.
func (r report) write(out io.Writer) error {
	text := r.head() + figure.Align(r.figureRows())
	for _, rows := range r.ratioTables() {
		text += "\n" + figure.Align(rows)
	}
	_, err := io.WriteString(out, text)
	return err
}

func (r report) head() string {
	m, v, s := r.Machine, r.Versions, r.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s, %d cores, %s, load %.2f before the start\n", m.CPU, m.Cores, m.System, m.Load)
	fmt.Fprintf(&b, "versions  Envoy %s; %s; %s\n", v.Envoy, v.Redis, v.Go)
	fmt.Fprintf(&b, "          routelimit.wasm %s\n", v.Module)
	if v.Service != "" {
		fmt.Fprintf(&b, "          envoyproxy/ratelimit %s, with %s\n", v.Service, strings.Join(serviceSettings(), " "))
	}
	fmt.Fprintf(&b, "settings  envoy.yaml without jwt_authn and access log, with a second's time for each decision, %s\n"+
		"          the upstream is a listener of the same Envoy; one limit a request, never reached; %s\n"+
		"          %s of %d s, columns in turn, after %d s of warm-up each\n",
		figure.Plural(s.EnvoyWorkers, "worker"), headersText(s.Headers), figure.Plural(s.Rounds, "round"), s.Seconds, s.Warmup)
	b.WriteString(r.generatorText())
	b.WriteString("figures   asks Redis: decisions a request; runs there: Redis' commands a request, those inside of scripts among them\n")
	for _, key := range s.Columns {
		if about := find(key).about; about != "" {
			fmt.Fprintf(&b, "column    %s: %s\n", title(key), about)
		}
	}
	for _, text := range s.left {
		fmt.Fprintf(&b, "left out  %s\n", text)
	}
	return b.String() + "\n"
}

func headersText(on bool) string {
	if on {
		return "every limiter sends three quota headers on each response"
	}
	return "no limiter sends quota headers"
}

// generatorText says how much of the machine the load itself took, and how late it was.
func (r report) generatorText() string {
	var share, late []float64
	for _, c := range r.Cells {
		share = append(share, c.LoadShare)
		if c.Load.open() {
			late = append(late, c.LateP99)
		}
	}
	text := fmt.Sprintf("load      one thread of this program; it took %.0f%% of a core at most", 100*figure.SpreadOf(share).Most)
	if len(late) > 0 {
		text += fmt.Sprintf("; at fixed rates 99%% of its requests were sent within %.0f us of their time (median of all cells)",
			figure.SpreadOf(late).Median)
	}
	return text + "\n"
}

// figureRows are the medians, and what of them a limiter added.
func (r report) figureRows() [][]string {
	rows := [][]string{{"medians over the rounds", "p50 us", "p90", "p99", "p99.9", "requests/s", "added p50", "added p99", "asks Redis", "runs there",
		"CPU us: Envoy", "Redis", "service"}}
	for _, l := range r.Settings.Loads {
		rows = append(rows, []string{l.String()})
		none, compared := r.find(keyNone, l)
		for _, key := range r.Settings.Columns {
			s, found := r.find(key, l)
			if !found {
				continue
			}
			added := []string{"", ""}
			if compared && key != keyNone {
				added = []string{figure.Whole(s.P50.Median - none.P50.Median), figure.Whole(s.P99.Median - none.P99.Median)}
			}
			name := "  " + title(key)
			if s.Waiting > 0 {
				name += " (did not keep up)"
			}
			rows = append(rows, []string{name, figure.Whole(s.P50.Median), figure.Whole(s.P90.Median), figure.Whole(s.P99.Median), figure.Whole(s.P999.Median),
				figure.Whole(s.RequestsPerSecond.Median), added[0], added[1], fmt.Sprintf("%.2f", s.Decisions.Median), fmt.Sprintf("%.2f", s.Calls.Median),
				fmt.Sprintf("%.1f", s.EnvoyCPU.Median), fmt.Sprintf("%.1f", s.RedisCPU.Median), fmt.Sprintf("%.1f", s.ServiceCPU.Median)})
		}
	}
	return rows
}

// ratioTables are a table for each that is compared with: a row for each ratio and load, and a cell for each column.
func (r report) ratioTables() (tables [][][]string) {
	if len(r.Ratios) == 0 {
		return [][][]string{{{"no ratios: measure also the column " + keyNone + ", and give RATELIMIT_BIN"}}}
	}
	var groups []string
	members := map[string][]ratio{}
	for _, one := range r.Ratios {
		group := againstText(one.Against)
		if members[group] == nil {
			groups = append(groups, group)
		}
		members[group] = append(members[group], one)
	}
	for _, group := range groups {
		tables = append(tables, r.ratioRows(group, members[group]))
	}
	return tables
}

func (r report) ratioRows(group string, members []ratio) [][]string {
	columns := slices.DeleteFunc(slices.Clone(r.Settings.Columns), func(key string) bool {
		return !slices.ContainsFunc(members, func(one ratio) bool { return one.Column == key })
	})
	head := []string{group + ", median (least … most)"}
	for _, key := range columns {
		head = append(head, title(key))
	}
	rows := [][]string{append(head, "goal")}
	label := ""
	for _, one := range members {
		if now := fmt.Sprintf("%s, %s", one.Name, one.Load); now != label {
			label = now
			rows = append(rows, append([]string{label}, make([]string, len(columns)+1)...))
		}
		row := rows[len(rows)-1]
		row[1+slices.Index(columns, one.Column)] = r.spreadText(one.Spread)
		if one.Goal != 0 {
			row[len(row)-1] = fmt.Sprint(one.Goal) // the same for all that have one
		}
	}
	return rows
}

func againstText(key string) string {
	if isService(key) {
		return "against the better envoyproxy/ratelimit"
	}
	return "against " + title(key)
}

func (r report) spreadText(s figure.Spread) string {
	text := fmt.Sprintf("%.2f (%.2f … %.2f)", s.Median, s.Least, s.Most)
	if s.Rounds < r.Settings.Rounds {
		text += fmt.Sprintf(" in %d", s.Rounds)
	}
	return text
}
