// Package page writes a simulation as one page for a browser: no script, nothing
// that is loaded from elsewhere, light or dark as the reader's system is.
package page

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"routelimit/simulate"
)

//go:embed page.tmpl
var text string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"grouped": grouped, "percent": percent, "share": share, "route": routeName, "minute": minute, "second": second,
	"timeline": timeline, "distribution": func(l limitOf) *chart { return distribution(l.Limit) }, "sum": func(a, b int64) int64 { return a + b },
	"others": others, "join": func(list []string) string { return strings.Join(list, ", ") },
}).Parse(text))

// Write writes the page.
func Write(out io.Writer, r *simulate.Report) error {
	shown, hidden := limits(r)
	return page.Execute(out, struct {
		*simulate.Report
		Lines  []line
		Shown  []limitOf
		Hidden int
	}{r, lines(r), shown, hidden})
}

// maxLimits are those that are described one by one.
const maxLimits = 200

// limitOf is a limit and the key of its route.
type limitOf struct {
	Route string
	simulate.Limit
}

// Certain is how many identities are refused something; of a shadow, would be.
func (l limitOf) Certain() int64 {
	if l.Shadow {
		return l.IdentitiesRefused
	}
	return l.IdentitiesRefused - l.IdentitiesSpared
}

// limits are all, in the order of the policy, or if there are too many those with
// the most refusals.
func limits(r *simulate.Report) (shown []limitOf, hidden int) {
	for _, route := range r.Routes {
		for _, l := range route.Limits {
			shown = append(shown, limitOf{route.Key, l})
		}
	}
	if len(shown) <= maxLimits {
		return shown, 0
	}
	slices.SortStableFunc(shown, func(a, b limitOf) int { return cmp.Compare(b.Refused, a.Refused) })
	return shown[:maxLimits], len(shown) - maxLimits
}

// maxLines are the routes that get a plot of their own.
const maxLines = 12

// line is one route's plot.
type line struct {
	simulate.Line
	Timeline *simulate.Timeline
	total    int64
	Refusals int64
}

// lines are the routes with the most requests, and all of them first if there are
// several.
func lines(r *simulate.Report) []line {
	var list []line
	all := line{Line: simulate.Line{Route: "all routes"}, Timeline: &r.Timeline}
	for _, l := range r.Timeline.Routes {
		one := line{Line: l, Timeline: &r.Timeline}
		for i := range l.Requests {
			one.total += l.Requests[i]
			one.Refusals += l.Refused[i]
		}
		list = append(list, one)
		all.Refusals += one.Refusals
		all.Requests, all.Refused = plus(all.Requests, l.Requests), plus(all.Refused, l.Refused)
	}
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Compare(b.total, a.total) })
	if len(list) > 1 {
		list = append([]line{all}, list[:min(maxLines, len(list))]...)
	}
	return list
}

func plus(a, b []int64) []int64 {
	sum := append(slices.Clone(a), make([]int64, max(0, len(b)-len(a)))...)
	for i := range b {
		sum[i] += b[i]
	}
	return sum
}

// others is how many routes have no plot.
func others(r *simulate.Report) int { return max(0, len(r.Timeline.Routes)-maxLines) }

func routeName(key string) string {
	if key == simulate.NoRoute {
		return "no route"
	}
	return key
}

func minute(t time.Time) string { return t.Format("2006-01-02 15:04") }
func second(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

func percent(n, of int64) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(float64(n)*100/float64(of), 'f', 1, 64) + "%"
}

func share(percent float64) string { return strconv.FormatFloat(percent, 'g', -1, 64) + "%" }

// grouped is 1234567 as 1,234,567.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
