package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"routelimit/policy/explain"
)

// printReport writes a report for people.
func printReport(out io.Writer, r *explain.Report) {
	fmt.Fprintf(out, "request    %s %s%s\n", visible(r.Method), visible(r.Host), visible(r.Path))
	fmt.Fprintf(out, "path       %s\n", visible(r.Normalised))
	printRoute(out, r.Route)
	address := r.Client.Address
	if address == "" {
		address = "unknown"
	}
	fmt.Fprintf(out, "client     %s, from %s\n", address, r.Client.From)
	for _, l := range r.Limits {
		printLimit(out, l)
	}
	for _, k := range r.Keys {
		printKey(out, k)
	}
	fmt.Fprintf(out, "\noutcome    %s: %s\n", r.Outcome, r.Why)
}

// visible writes out what a terminal would take for a command.
func visible(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func printRoute(out io.Writer, r *explain.Route) {
	if r == nil {
		fmt.Fprintln(out, "route      none")
		return
	}
	if r.Template == "" {
		fmt.Fprintf(out, "route      the default; on_error %s\n", r.OnError)
	} else {
		fmt.Fprintf(out, "route      %s, from %s; on_error %s\n", r.Template, r.From, r.OnError)
	}
	for _, loss := range r.Beaten {
		fmt.Fprintf(out, "           wins over %s: %s\n", loss.Template, loss.Why)
	}
}

func printLimit(out io.Writer, l explain.Limit) {
	fmt.Fprintf(out, "\nlimit      %s: %s, for %s", l.Name, l.Terms, l.Identity)
	if l.Cost != 1 {
		fmt.Fprintf(out, ", a request costs %d", l.Cost)
	}
	if l.Shadow {
		fmt.Fprint(out, ", shadow: refuses nobody")
	}
	if len(l.Count) > 0 {
		fmt.Fprintf(out, ", only responses %v stay counted", l.Count)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, a := range l.Tried {
		for _, c := range a.Components {
			value := c.Value
			if value == "" {
				value = "missing"
			}
			fmt.Fprintf(table, "           %s\t%s\t%s\n", c.Name, value, joined(c.From, c.Why))
		}
	}
	table.Flush()
	if last := l.Tried[len(l.Tried)-1]; !last.Present {
		fmt.Fprintf(out, "           nothing of it is present, so %s\n", fallback(l.Used))
	}
	fmt.Fprintf(out, "           key %s\n", l.Key)
}

func joined(from, why string) string {
	if why == "" {
		return "from " + from
	}
	return "from " + from + "; " + why
}

// fallback says what stands in for an identity that is missing.
func fallback(used string) string {
	if used == "ip" {
		return "the address stands in"
	}
	return "one count for all such callers stands in"
}

func printKey(out io.Writer, k explain.Key) {
	fmt.Fprintf(out, "\nkey        %s\n           slot %d, one call decides %s\n", k.Key, k.Slot, strings.Join(k.Limits, ", "))
	for i, left := range k.Left {
		verdict := "would pass"
		if !left.Passes {
			verdict = "would be refused"
		}
		fmt.Fprintf(out, "           %s: %d left%s, %s\n", k.Limits[i], left.Remaining, reset(left), verdict)
	}
}

// reset says when more is left.
func reset(left explain.Left) string {
	if left.ResetMS == 0 {
		return ""
	}
	return fmt.Sprintf(", more in %s", (time.Duration(left.ResetMS) * time.Millisecond).Round(time.Millisecond))
}
