package main

import (
	"fmt"
	"io"

	"routelimit/top"
)

// printPicture writes one round for people.
func printPicture(out io.Writer, p *top.Picture, o *top.Options) {
	paint := paintFor(out)
	sample := ""
	if p.Sample {
		sample = ", a sample: there are more, see --keys"
	}
	fmt.Fprintf(out, "%s of %s:{…} on %s, read in at most %g%% of the time%s\n",
		plural64(p.Keys, "key"), visible(o.Prefix), plural(p.Servers, "server"), 100*o.Share, sample)
	if p.Foreign > 0 {
		fmt.Fprintf(out, "%s among them are none of routelimit's\n", grouped(p.Foreign))
	}
	routes := grid{{"route", "callers", "used", "refused now"}}
	for _, r := range p.Routes {
		refused := "?"
		if o.Policy != nil {
			refused = grouped(r.Refused)
		}
		routes.row(visible(r.Scope), grouped(r.Keys), grouped(r.Used), refused)
	}
	if len(p.Routes) == 0 {
		fmt.Fprintln(out, "nothing is counted now")
		return
	}
	fmt.Fprintln(out)
	routes.print(out)
	printEntries(out, paint.bold("most used"), p.Used)
	switch {
	case o.Policy == nil:
		fmt.Fprintln(out, "\nwho is refused is not known without the limits; name them with --policy")
	case len(p.Refused) == 0:
		fmt.Fprintf(out, "\n%s nobody\n", paint.bold("refused now"))
	default:
		printEntries(out, paint.bold("refused now"), p.Refused)
	}
}

func printEntries(out io.Writer, title string, list []top.Entry) {
	fmt.Fprintf(out, "\n%s\n", title)
	rows := grid{{"caller", "used", "of", "limit", "route"}}
	for _, e := range list {
		of := "?"
		if e.Of > 0 {
			of = grouped(e.Of)
		}
		rows.row(visible(e.Identity), grouped(e.Used), of, visible(e.Limit), visible(e.Scope))
	}
	rows.print(out)
}
