package monitoring

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"
)

// TestEveryMetricAndLabelIsInARealEnvoysOutput drives an Envoy through everything that is counted, and looks up there what
// dashboard and alert rules ask for: each selector finds something, each alternative of its patterns too, and the labels
// that sums are grouped by exist. And the other way round: what is shown is in the dashboard and in the documentation.
func TestEveryMetricAndLabelIsInARealEnvoysOutput(t *testing.T) {
	s := startStage(t)
	s.drive()
	s.eventually("histograms are shown", func() error { return s.shows(`routelimit_batch_commands_bucket{le="1"}`) })
	shown := scrape(t, s.page())
	for _, e := range expressions(t) {
		for _, problem := range lookUp(e.ast, shown) {
			t.Errorf("%s: %s", e.where, problem)
		}
	}
	for _, about := range []struct{ metric, label string }{{"routelimit_routes", ""}, {"routelimit_requests_total", "route"}} {
		if !slices.ContainsFunc(shown, func(l labels.Labels) bool {
			return l.Get(labels.MetricName) == about.metric && (about.label == "" || l.Has(about.label))
		}) {
			t.Errorf("variable: no %s with a label %q", about.metric, about.label)
		}
	}
	checkPanelsShowSomething(t, shown)
	pictures, err := os.ReadFile(dashboardFile)
	s.check(err)
	page, err := os.ReadFile("../../../docs/operations.md")
	s.check(err)
	for name := range ours(shown) {
		if !strings.Contains(string(pictures), name) {
			t.Errorf("%s is shown, and not in the dashboard", name)
		}
		if !strings.Contains(string(page), strings.TrimSuffix(name, "_count")) {
			t.Errorf("%s is shown, and not in docs/operations.md", name)
		}
	}
}

// scrape reads a page as Prometheus does.
func scrape(t *testing.T, page string) []labels.Labels {
	t.Helper()
	var list []labels.Labels
	p := textparse.NewPromParser([]byte(page), labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("Prometheus cannot read the page: %v", err)
		case entry == textparse.EntrySeries:
			var l labels.Labels
			p.Labels(&l)
			list = append(list, l)
		}
	}
}

// ours are the names of routelimit's metrics, of histograms the number of values alone.
func ours(shown []labels.Labels) map[string]bool {
	names := map[string]bool{}
	for _, l := range shown {
		name := l.Get(labels.MetricName)
		if strings.HasPrefix(name, "routelimit_") && !strings.HasSuffix(name, "_bucket") && !strings.HasSuffix(name, "_sum") {
			names[name] = true
		}
	}
	return names
}

// fromScraping are the labels that Prometheus adds to what it scrapes.
var fromScraping = []string{"job", "instance"}

// lookUp says what an expression asks for that is not shown.
func lookUp(e parser.Expr, shown []labels.Labels) (problems []string) {
	var grouped []string
	parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
		switch v := n.(type) {
		case *parser.AggregateExpr:
			grouped = append(grouped, v.Grouping...)
		case *parser.BinaryExpr:
			if v.VectorMatching != nil {
				grouped = append(grouped, v.VectorMatching.MatchingLabels...)
			}
		case *parser.VectorSelector:
			problems = append(problems, notFound(v, shown)...)
		}
		return nil
	})
	for _, label := range grouped {
		if !slices.Contains(fromScraping, label) && !hasLabel(e, label, shown) {
			problems = append(problems, "no series has the label "+label)
		}
	}
	return problems
}

// notFound says which part of a selector finds nothing.
func notFound(v *parser.VectorSelector, shown []labels.Labels) (problems []string) {
	if len(found(v, shown)) == 0 {
		return []string{v.String() + " finds nothing"}
	}
	for _, m := range v.LabelMatchers {
		if slices.Contains(fromScraping, m.Name) || m.Name == labels.MetricName { // names differ by Envoy's version
			continue
		}
		for _, value := range m.SetMatches() {
			if !slices.ContainsFunc(found(v, shown), func(l labels.Labels) bool { return l.Get(m.Name) == value }) {
				problems = append(problems, v.String()+" finds no "+m.Name+" "+value)
			}
		}
	}
	return problems
}

// found are the series that a selector selects. What a rule has recorded, routelimit_x:increase5m, stands for
// routelimit_x_total.
func found(v *parser.VectorSelector, shown []labels.Labels) (list []labels.Labels) {
	for _, l := range shown {
		matches := true
		for _, m := range v.LabelMatchers {
			value := l.Get(m.Name)
			if recorded, isRecorded := strings.CutSuffix(m.Value, ":increase5m"); isRecorded {
				matches = matches && value == recorded+"_total"
				continue
			}
			matches = matches && (slices.Contains(fromScraping, m.Name) || m.Matches(value))
		}
		if matches {
			list = append(list, l)
		}
	}
	return list
}

// hasLabel says whether what any selector of an expression selects has a label.
func hasLabel(e parser.Expr, label string, shown []labels.Labels) bool {
	has := false
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			has = has || slices.ContainsFunc(found(v, shown), func(l labels.Labels) bool { return l.Has(label) })
		}
		return nil
	})
	return has
}

// TestLookUpFindsWhatIsMissing shows that the test above can fail.
func TestLookUpFindsWhatIsMissing(t *testing.T) {
	shown := scrape(t, `a_total{x="1"} 1
a_total{x="2"} 1
b_total{} 1
`)
	for text, want := range map[string]string{
		`rate(c_total[5m])`:                   `{__name__="c_total"} finds nothing`,
		`a_total{x="3"}`:                      `finds nothing`,
		`sum by (y) (a_total)`:                `the label y`,
		`a_total{x=~"1|3"}`:                   `finds no x 3`,
		`a_total and on (z) b_total`:          `the label z`,
		`sum by (x, job) (a:increase5m)`:      ``,
		`a_total{x=~".*", instance=~"h"} > 1`: ``,
	} {
		e, err := promQL.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(slices.Sorted(maps.Keys(asSet(lookUp(e, shown)))), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, strings.TrimPrefix(want, `{__name__="c_total"} `)) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func asSet(list []string) map[string]bool {
	set := map[string]bool{}
	for _, text := range list {
		set[text] = true
	}
	return set
}
