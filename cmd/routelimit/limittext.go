package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"routelimit/simulate"
)

func printSimulatedLimit(out io.Writer, p paint, route string, l *simulate.Limit) {
	fmt.Fprintf(out, "\n%s\n", p.bold(fmt.Sprintf("%s, limit %q", route, l.Name))+": "+l.Terms+", for "+l.Identity+shadowMark(l))
	if l.Asked == 0 {
		fmt.Fprintf(out, "  not played, for %s: the log has no place for %s\n", plural64(l.LeftOut, "request"), strings.Join(l.Lacks, ", "))
		return
	}
	verb := "refused"
	if l.Shadow {
		verb = "would have refused"
	}
	fmt.Fprintf(out, "  requests     %s: passed %s, %s%s, refused only by others %s%s\n", grouped(l.Asked), grouped(l.Passed),
		refusedText(p, verb, l.Refused), sparedText(l, l.Spared), grouped(l.Withheld), returnedText(l))
	if l.Identities == 0 {
		return
	}
	if len(l.Used) > 1 {
		fmt.Fprintf(out, "  counted by   %s\n", usedText(l.Used))
	}
	fmt.Fprintf(out, "  identities   %s%s, of which %s\n", about(l), grouped(l.Identities), identitiesText(l))
	if len(l.Suggestions) > 0 {
		fmt.Fprintf(out, "  suggestion   %s\n", suggestions(l))
	}
	if l.WorstMinute != nil {
		fmt.Fprintf(out, "  worst minute %s UTC: %s of %s %srefused%s\n", l.WorstMinute.At.Format("2006-01-02 15:04"), grouped(l.WorstMinute.Refused),
			plural64(l.WorstMinute.Requests, "request"), wouldBe(l), sparedText(l, l.WorstMinute.Spared))
	}
	printTop(out, l)
}

// usedText is "user_id 37, ip 14".
func usedText(used []simulate.Used) string {
	var parts []string
	for _, u := range used {
		parts = append(parts, u.Alternative+" "+grouped(u.Requests))
	}
	return strings.Join(parts, ", ")
}

func shadowMark(l *simulate.Limit) string {
	if l.Shadow {
		return ", shadow"
	}
	return ""
}

func refusedText(p paint, verb string, n int64) string {
	text := verb + " " + grouped(n)
	if n > 0 {
		return p.red(text)
	}
	return text
}

// sparedText says how many of those refused are not, where only some are.
func sparedText(l *simulate.Limit, n int64) string {
	if l.Shadow || n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of them let through, since it is not enforced for all)", grouped(n))
}

func wouldBe(l *simulate.Limit) string {
	if l.Shadow {
		return "would be "
	}
	return ""
}

// identitiesText says how many are refused, and how many only would be.
func identitiesText(l *simulate.Limit) string {
	share := func(n int64) string { return fmt.Sprintf("%s (%s)", grouped(n), percent(n, l.Identities)) }
	switch {
	case l.Shadow:
		return share(l.IdentitiesRefused) + " would be refused at least once"
	case l.IdentitiesSpared > 0:
		return fmt.Sprintf("%s are refused at least once, and %s would be if it were enforced for all",
			share(l.IdentitiesRefused-l.IdentitiesSpared), share(l.IdentitiesSpared))
	}
	return share(l.IdentitiesRefused) + " are refused at least once"
}

func returnedText(l *simulate.Limit) string {
	if len(l.Count) == 0 {
		return ""
	}
	return fmt.Sprintf(", given back for their status %s", grouped(l.Returned))
}

func about(l *simulate.Limit) string {
	if l.OneIn > 1 {
		return "about "
	}
	return ""
}

// suggestions is "a limit of 12 refuses at most 0.1% of them, 9 at most 1%, 4 at most 5%".
func suggestions(l *simulate.Limit) string {
	var parts []string
	for i, s := range l.Suggestions {
		number := grouped(s.Number)
		if s.Over {
			number = "over " + grouped(s.Number-1)
		}
		verb := ""
		if i == 0 {
			number, verb = "a "+l.Unit+" of "+number, "refuses "
		}
		parts = append(parts, fmt.Sprintf("%s %sat most %s%% of them", number, verb, strconv.FormatFloat(s.Percent, 'g', -1, 64)))
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), " of them,", ",")
}

func printTop(out io.Writer, l *simulate.Limit) {
	if len(l.Top) == 0 {
		return
	}
	head := "most refused"
	if l.Shadow {
		head = "would be refused most"
	}
	fmt.Fprint(out, "  "+head)
	if l.TopFloor > 0 {
		fmt.Fprintf(out, " (each may lack up to %s)", grouped(l.TopFloor))
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range l.Top {
		spared := ""
		if t.Spared && !l.Shadow {
			spared = ", let through"
		}
		fmt.Fprintf(table, "    %s\t%s\t%s to %s%s\n", t.Identity, grouped(t.Refused), t.First.Format(dateTime), t.Last.Format(dayTime(t.First, t.Last)), spared)
	}
	table.Flush()
}

// dayTime leaves the date out where it is the same.
func dayTime(first, last time.Time) string {
	if first.YearDay() == last.YearDay() && first.Year() == last.Year() {
		return timeOnly
	}
	return dateTime
}
