// Package monitoring makes the Grafana dashboard that ships in deploy/grafana, and its tests hold it, and the alert rules in
// deploy/prometheus, against what a real Envoy shows.
package monitoring

import (
	"encoding/json"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Dashboard is the dashboard as JSON.
func Dashboard() ([]byte, error) {
	b := dashboard.NewDashboardBuilder("routelimit").
		Uid("routelimit").
		Description("Rate limits in Envoy: who is refused, and whether Redis decides. Needs the stats_config of envoy.yaml.").
		Tags([]string{"envoy", "routelimit"}).
		Time("now-3h", "now").Refresh("30s").Timezone("browser").Editable().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(variable("instance", "Envoy", "label_values(routelimit_routes, instance)")).
		WithVariable(variable("route", "Route", "label_values(routelimit_requests_total, route)"))
	id := uint32(0)
	next := func() uint32 { id++; return id }
	for _, r := range rows {
		b.WithRow(dashboard.NewRowBuilder(r.title).Id(next()))
		for _, p := range r.panels {
			b.WithPanel(p.build(next()))
		}
	}
	made, err := b.Build()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(made, "", "  ")
	return append(text, '\n'), err
}

// variable is a choice of any number of a label's values, all of them at first.
func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).Datasource(source()).
		Query(dashboard.StringOrMap{String: cog.ToPtr(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// source is the data source that the dashboard's first variable chooses.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// Of the 24 columns of a dashboard, what a number and a course over time take, and their heights.
const (
	numberWidth, numberHeight = 4, 4
	courseWidth, courseHeight = 12, 8
)

func (p panel) build(id uint32) cog.Builder[dashboard.Panel] {
	if p.single {
		b := stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.about).Unit(p.unit).Datasource(source()).
			Span(numberWidth).Height(numberHeight).Thresholds(p.thresholds()).
			ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeArea).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		for _, t := range p.targets() {
			b.WithTarget(t)
		}
		return b
	}
	b := timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.about).Unit(p.unit).Datasource(source()).Min(0).
		Span(courseWidth).Height(courseHeight).FillOpacity(10).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			ShowLegend(true).Calcs([]string{"lastNotNull", "max"}))
	for _, t := range p.targets() {
		b.WithTarget(t)
	}
	return b
}

func (p panel) targets() []cog.Builder[variants.Dataquery] {
	var list []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		list = append(list, prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).Range().RefId(string(rune('A'+i))))
	}
	return list
}

// thresholds are green up to where it gets bad.
func (p panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: "green"}}
	if p.badFrom != never {
		steps = append(steps, dashboard.Threshold{Value: cog.ToPtr(p.badFrom), Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}
