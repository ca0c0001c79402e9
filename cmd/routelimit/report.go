package main

import (
	"fmt"
	"io"
	"slices"
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
	printClient(out, r.Client)
	for _, l := range r.Limits {
		printLimit(out, l, r.Keys)
	}
	fmt.Fprintf(out, "\noutcome    %s: %s\n", r.Outcome, r.Why)
}

// ofOwnMachine is why a count of 127.0.0.1 may be looked for in vain.
const ofOwnMachine = "of a client on its own machine Envoy may see that machine's address"

func printClient(out io.Writer, c explain.Client) {
	address := c.Address
	if address == "" {
		address = "unknown"
	}
	fmt.Fprintf(out, "client     %s, from %s\n", address, c.From)
	if c.Assumed {
		fmt.Fprintln(out, "           assumed: --from says who connects; "+ofOwnMachine)
	}
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

func printLimit(out io.Writer, l explain.Limit, keys []explain.Key) {
	fmt.Fprintf(out, "\nlimit      %s: %s, for %s%s", l.Name, l.Terms, l.Identity, planned(l))
	if l.Cost != 1 || l.CostFrom != "" {
		fmt.Fprintf(out, ", a request costs %d", l.Cost)
	}
	switch {
	case l.CostUnread:
		fmt.Fprintf(out, ", since %s is missing, repeated or no positive whole number", l.CostFrom)
	case l.CostFrom != "":
		fmt.Fprintf(out, " by %s", l.CostFrom)
	}
	switch {
	case l.Shadow:
		fmt.Fprint(out, ", shadow: refuses nobody")
	case l.EnforcePercent < 100 && l.Enforced:
		fmt.Fprintf(out, ", enforced for %d%% of callers, and for this one", l.EnforcePercent)
	case l.EnforcePercent < 100:
		fmt.Fprintf(out, ", enforced for %d%% of callers, and not for this one", l.EnforcePercent)
	}
	switch l.Lease {
	case "":
	case "auto":
		fmt.Fprint(out, ", leased by the caller's rate")
	default:
		fmt.Fprintf(out, ", leased for up to %s requests at once", l.Lease)
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
	for _, k := range keys {
		if k.Key == l.Key {
			printKey(out, l, k)
		}
	}
}

// planned says why the limit is this caller's.
func planned(l explain.Limit) string {
	switch {
	case l.PlanBy == "":
		return ""
	case l.Plan == "":
		return ", the default of " + l.PlanBy
	}
	return fmt.Sprintf(", plan %s of %s", visible(l.Plan), l.PlanBy)
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

// printKey writes where a limit counts, with which others, and what is left of it.
func printKey(out io.Writer, l explain.Limit, k explain.Key) {
	fmt.Fprintf(out, "           key %s\n           slot %d", k.Key, k.Slot)
	if others := slices.DeleteFunc(slices.Clone(k.Limits), func(name string) bool { return name == l.Name }); len(others) > 0 {
		fmt.Fprintf(out, ", decided together with %s", strings.Join(others, ", "))
	}
	fmt.Fprintln(out)
	for i, left := range k.Left {
		if k.Limits[i] != l.Name {
			continue
		}
		verdict := "would pass"
		switch {
		case !left.Passes && l.Shadow:
			verdict = "would be refused, were it no shadow"
		case !left.Passes:
			verdict = "would be refused"
		}
		fmt.Fprintf(out, "           left %d%s: the request %s\n", left.Remaining, reset(left), verdict)
	}
}

// reset says when more is left.
func reset(left explain.Left) string {
	if left.ResetMS == 0 {
		return ""
	}
	return ", more in " + inWords(time.Duration(left.ResetMS)*time.Millisecond)
}

// inWords is a duration as people write it, in seconds from one second on: 1h5m, 59s, 20ms.
func inWords(d time.Duration) string {
	if d >= time.Second {
		d = (d + time.Second - 1).Truncate(time.Second)
	}
	text := ""
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / unit.size; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + unit.name
			d %= unit.size
		}
	}
	return text
}
