package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"routelimit/simulate"
)

// printSimulation writes a simulation for people.
func printSimulation(out io.Writer, r *simulate.Report) {
	p := paintFor(out)
	printLogs(out, r.Logs)
	printSpan(out, r.From, r.To, r.Requests)
	printNotes(out, p, "", r.Notes)
	if r.Requests == 0 {
		return
	}
	fmt.Fprintln(out)
	table := grid{{"route", "requests", "passed", "refused", "of all", "not limited", "not played", "partly played"}}
	for _, route := range r.Routes {
		table.addRoute(routeName(route.Key), route.Requests, route.Outcomes, route.Partly)
	}
	if len(r.Routes) > 1 {
		table.addRoute("all", r.Requests, r.Outcomes, r.Partly)
	}
	table.print(out)
	for _, route := range r.Routes {
		for _, l := range route.Limits {
			printSimulatedLimit(out, p, route.Key, &l)
		}
	}
}

func printLogs(out io.Writer, logs []simulate.Log) {
	for i, l := range logs {
		head := "log"
		if i > 0 {
			head = ""
		}
		format := l.Format
		if format == "" {
			format = "format unknown"
		}
		fmt.Fprintf(out, "%-10s %s (%s): %s, %s unreadable\n", head, visible(l.Name), format, plural64(l.Lines, "line"), grouped(l.Unreadable))
		for _, fault := range l.Faults {
			fmt.Fprintf(out, "           line %d: %s", fault.Line, fault.Why)
			if fault.Text != "" {
				fmt.Fprintf(out, ": %s", fault.Text)
			}
			fmt.Fprintln(out)
		}
		if more := l.Unreadable - int64(len(l.Faults)); more > 0 {
			fmt.Fprintf(out, "           and %s more\n", grouped(more))
		}
	}
}

const (
	dateTime = "2006-01-02 15:04:05"
	timeOnly = "15:04:05"
)

func printSpan(out io.Writer, from, to time.Time, requests int64) {
	if requests == 0 {
		fmt.Fprintln(out, "requests   none")
		return
	}
	fmt.Fprintf(out, "requests   %s, from %s to %s UTC\n", grouped(requests), from.Format(dateTime), to.Format(dateTime))
}

func printNotes(out io.Writer, p paint, whose string, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(out, "%s %s\n", p.yellow("note"+whose+strings.Repeat(" ", max(0, 6-len(whose)))), wrap(visible(note), 11, 108))
	}
}

// wrap breaks a text into lines of a width and indents all but the first.
func wrap(text string, indent, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func (g *grid) addRoute(name string, requests int64, o simulate.Outcomes, partly int64) {
	refused := o.Refused + o.Undeclared
	g.row(name, grouped(requests), grouped(o.Passed), grouped(refused), percent(refused, requests),
		grouped(o.Unlimited+o.Exempt+o.Preflight), grouped(o.LeftOut), grouped(partly))
}

func routeName(key string) string {
	if key == simulate.NoRoute {
		return "no route"
	}
	return key
}

func percent(n, of int64) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(float64(n)*100/float64(of), 'f', 1, 64) + "%"
}

// grouped is 1234567 as 1,234,567.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func plural64(n int64, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey"):
		return grouped(n) + " " + strings.TrimSuffix(what, "y") + "ies"
	}
	return grouped(n) + " " + what + "s"
}
