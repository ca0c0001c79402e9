package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"routelimit/simulate"
)

// printComparison writes a comparison for people.
func printComparison(out io.Writer, c *simulate.Comparison) {
	p := paintFor(out)
	printLogs(out, c.Logs)
	printSpan(out, c.From, c.To, c.Requests)
	both := func(note string) bool { return slices.Contains(c.NotesOld, note) && slices.Contains(c.NotesNew, note) }
	isBoth := slices.DeleteFunc(slices.Clone(c.NotesNew), func(note string) bool { return !both(note) })
	printNotes(out, p, "", isBoth)
	printNotes(out, p, ", old", slices.DeleteFunc(slices.Clone(c.NotesOld), both))
	printNotes(out, p, ", new", slices.DeleteFunc(slices.Clone(c.NotesNew), both))

	fmt.Fprintf(out, "\n%s\n", p.bold("policy"))
	if len(c.Changes) == 0 {
		fmt.Fprintln(out, "  nothing that decides who is refused")
	}
	for _, change := range c.Changes {
		fmt.Fprintf(out, "  %s\n", wrap(visible(change), 4, 112))
	}
	if c.Requests == 0 {
		return
	}
	fmt.Fprintln(out)
	table := grid{{"route", "requests", "refused, old", "new", "lose", "gain"}}
	for _, r := range c.Routes {
		name := routeName(r.New)
		if r.Old != r.New {
			name = routeName(r.Old) + " -> " + name
		}
		table.addFlow(name, r.Flow)
	}
	if len(c.Routes) > 1 {
		table.addFlow("all", c.Flow)
	}
	table.print(out)
	printAffected(out, p, "lose", "pass the old policy and not the new", c.Losing, c.AllLose, c.AtLeast, c.Lose)
	printAffected(out, p, "gain", "pass the new policy and not the old", c.Gaining, c.AllGain, c.AtLeast, c.Gain)
}

func (g *grid) addFlow(name string, f simulate.Flow) {
	g.row(name, grouped(f.Requests), grouped(f.Old), grouped(f.New), grouped(f.Lost), grouped(f.Gained))
}

func printAffected(out io.Writer, p paint, verb, meaning string, n int, all int64, atLeast bool, list []simulate.Affected) {
	if n == 0 && all == 0 {
		fmt.Fprintf(out, "\n%s nobody\n", p.bold(verb))
		return
	}
	least := ""
	if atLeast {
		least = "at least "
	}
	identities := least + plural64(int64(n), "identity")
	switch {
	case n == 0:
		fmt.Fprintf(out, "\n%s everybody, of whom %s %s\n", p.bold(verb), plural64(all, "request"), meaning)
	case all == 0:
		fmt.Fprintf(out, "\n%s %s, whose requests %s\n", p.bold(verb), identities, meaning)
	default:
		fmt.Fprintf(out, "\n%s %s and everybody (%s), whose requests %s\n", p.bold(verb), identities, plural64(all, "request"), meaning)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, a := range list {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\tsince %s\n", a.Identity, routeName(a.Route), a.Limit, plural64(a.Requests, "request"), a.First.Format(dateTime))
	}
	table.Flush()
}
