package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"routelimit/simulate"
)

var csvHead = []string{
	"route", "limit", "identity", "terms", "shadow", "requests", "passed", "refused", "spared", "withheld", "returned",
	"not_played", "partly_played", "identities", "identities_refused", "identities_spared", "number",
	"refuses_0.1_percent", "refuses_1_percent", "refuses_5_percent", "worst_minute", "worst_minute_refused",
}

// writeCSV writes a row for each limit, and before those one for their route, whose
// limit is empty. No caller's value is in it.
func writeCSV(out io.Writer, r *simulate.Report) error {
	w := csv.NewWriter(out)
	w.Write(csvHead)
	for _, route := range r.Routes {
		row := make([]string, len(csvHead))
		o := route.Outcomes
		row[0] = route.Key
		row[5], row[6] = number(route.Requests), number(o.Passed)
		row[7], row[11], row[12] = number(o.Refused+o.Undeclared), number(o.LeftOut), number(route.Partly)
		w.Write(row)
		for i := range route.Limits {
			w.Write(csvRow(route.Key, &route.Limits[i]))
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("cannot write the table: %w; write to a file", err)
	}
	return nil
}

func csvRow(route string, l *simulate.Limit) []string {
	row := []string{
		route, l.Name, l.Identity, l.Terms, strconv.FormatBool(l.Shadow), number(l.Asked), number(l.Passed), number(l.Refused), number(l.Spared),
		number(l.Withheld), number(l.Returned), number(l.LeftOut), "", number(l.Identities), number(l.IdentitiesRefused), number(l.IdentitiesSpared),
		number(l.Number), "", "", "", "", "",
	}
	for i, s := range l.Suggestions {
		row[17+i] = number(s.Number)
	}
	if l.WorstMinute != nil {
		row[20], row[21] = l.WorstMinute.At.Format("2006-01-02T15:04Z"), number(l.WorstMinute.Refused)
	}
	return row
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
