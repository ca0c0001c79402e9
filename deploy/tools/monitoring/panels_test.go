package monitoring

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// checkPanelsShowSomething lets all that an Envoy shows grow for ten minutes, and asks Prometheus' engine each panel's
// queries then: labels that do not fit together on both sides of an operator would leave nothing.
func checkPanelsShowSomething(t *testing.T, shown []labels.Labels) {
	t.Helper()
	input := "load 1m\n"
	for _, l := range shown {
		if strings.Contains(l.Get(labels.MetricName), "routelimit_") { // ours, and Envoy's about our plugins
			scraped := labels.NewBuilder(l).Set("job", "envoy").Set("instance", "a:9901").Labels()
			input += "  " + scraped.String() + " 1+1x10\n"
		}
	}
	loader, err := promqltest.NewLazyLoader(input, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL})
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	at := time.Unix(0, 0).Add(10 * time.Minute)
	loader.WithSamplesTill(at, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, r := range rows {
		for _, p := range r.panels {
			for _, q := range p.queries {
				if values := ask(t, loader, strings.ReplaceAll(q.expr, "$__rate_interval", "5m"), at); len(values) == 0 || math.IsNaN(values[0].F) {
					t.Errorf("panel %s: %s is %v", p.title, q.expr, values)
				}
			}
		}
	}
}

func ask(t *testing.T, loader *promqltest.LazyLoader, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := loader.QueryEngine().NewInstantQuery(loader.Context(), loader.Queryable(), nil, grafana.Replace(expr), at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	values, err := q.Exec(loader.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return values
}
