package monitoring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const alertsFile = "../../prometheus/alerts.yml"

// promQL is the language without experimental syntax, as any Prometheus reads it.
var promQL = parser.NewParser(parser.Options{})

// expression is one that the dashboard or the alert rules ask Prometheus for.
type expression struct {
	where string
	ast   parser.Expr
}

func expressions(t *testing.T) []expression {
	t.Helper()
	var list []expression
	add := func(where, text string) {
		ast, err := promQL.ParseExpr(text)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		list = append(list, expression{where, ast})
	}
	for _, r := range rows {
		for _, p := range r.panels {
			for _, q := range p.queries {
				add("panel "+p.title, grafana.Replace(q.expr))
			}
		}
	}
	for _, r := range ruleGroup(t).Rules {
		add("rule "+name(r), r.Expr)
	}
	return list
}

// grafana stands for what Grafana puts into a query: the variables with everything chosen.
var grafana = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$route", ".*")

func name(r rulefmt.Rule) string { return r.Record + r.Alert }

// ruleGroup is the only one of the alert rules.
func ruleGroup(t *testing.T) rulefmt.RuleGroup {
	t.Helper()
	all, errs := rulefmt.ParseFile(alertsFile, false, model.UTF8Validation, promQL, promslog.NewNopLogger())
	if len(errs) > 0 || len(all.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(all.Groups), errs)
	}
	return all.Groups[0]
}

// legends are the labels that a panel's legend names.
var legends = regexp.MustCompile(`{{(\w+)}}`)

func TestLegendsNameLabelsThatTheQueryKeeps(t *testing.T) {
	for _, r := range rows {
		for _, p := range r.panels {
			for _, q := range p.queries {
				ast, err := promQL.ParseExpr(grafana.Replace(q.expr))
				if err != nil {
					t.Fatalf("%s: %v", p.title, err)
				}
				kept := grouping(ast)
				var named []string
				for _, m := range legends.FindAllStringSubmatch(q.legend, -1) {
					named = append(named, m[1])
				}
				slices.Sort(named)
				if len(named) > 0 && fmt.Sprint(named) != fmt.Sprint(kept) {
					t.Errorf("%s: the legend names %v, the query keeps %v", p.title, named, kept)
				}
			}
		}
	}
}

// grouping are the labels that the outermost sums of an expression keep.
func grouping(e parser.Expr) []string {
	switch v := e.(type) {
	case *parser.AggregateExpr:
		list := slices.Clone(v.Grouping)
		slices.Sort(list)
		return list
	case *parser.BinaryExpr:
		return grouping(v.LHS)
	case *parser.ParenExpr:
		return grouping(v.Expr)
	}
	return nil
}
