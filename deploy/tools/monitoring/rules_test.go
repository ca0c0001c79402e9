package monitoring

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// unitTests is a file that promtool test rules reads, with what this one uses of its fields.
type unitTests struct {
	RuleFiles          []string `yaml:"rule_files"`
	EvaluationInterval string   `yaml:"evaluation_interval"`
	Tests              []unitTest
}

type unitTest struct {
	Name        string
	Interval    string
	InputSeries []struct{ Series, Values string } `yaml:"input_series"`
	Alerts      []alertAt                         `yaml:"alert_rule_test"`
}

type alertAt struct {
	EvalTime string `yaml:"eval_time"`
	Alert    string `yaml:"alertname"`
	Expected []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

func readUnitTests(t *testing.T) unitTests {
	t.Helper()
	text, err := os.ReadFile(strings.Replace(alertsFile, ".yml", ".test.yml", 1))
	if err != nil {
		t.Fatal(err)
	}
	var all unitTests
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all.RuleFiles, []string{"alerts.yml"}) {
		t.Fatalf("it tests %v", all.RuleFiles)
	}
	return all
}

// TestAlertRules runs alerts.test.yml as promtool does, by Prometheus' own engine and rule manager.
func TestAlertRules(t *testing.T) {
	all := readUnitTests(t)
	step := duration(t, all.EvaluationInterval)
	for _, u := range all.Tests {
		t.Run(u.Name, func(t *testing.T) { u.run(t, step) })
	}
}

func (u unitTest) run(t *testing.T, step time.Duration) {
	input := "load " + u.Interval + "\n"
	for _, s := range u.InputSeries {
		input += "  " + s.Series + " " + s.Values + "\n"
	}
	loader, err := promqltest.NewLazyLoader(input, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL})
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		AppendableV2: loader.Storage(), Context: t.Context(), Parser: promQL,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(step, labels.EmptyLabels(), "", nil, false, alertsFile)
	if len(errs) > 0 || len(groups) != 1 {
		t.Fatalf("%d groups, %v", len(groups), errs)
	}
	for _, group := range groups {
		for at := time.Duration(0); at <= u.last(t); at += step {
			loader.WithSamplesTill(time.Unix(0, 0).Add(at), func(err error) {
				if err != nil {
					t.Fatal(err)
				}
				group.Eval(loader.Context(), time.Unix(0, 0).Add(at))
			})
			u.compare(t, group, at)
		}
	}
}

// last is the time of the last look at alerts.
func (u unitTest) last(t *testing.T) (last time.Duration) {
	for _, a := range u.Alerts {
		last = max(last, duration(t, a.EvalTime))
	}
	return last
}

// compare looks at the alerts that are expected at a time, or expected not to be.
func (u unitTest) compare(t *testing.T, group *rules.Group, at time.Duration) {
	t.Helper()
	firing := map[string][]string{}
	for _, r := range group.Rules() {
		if r.LastError() != nil {
			t.Fatalf("%s at %v: %v", r.Name(), at, r.LastError())
		}
		alert, ok := r.(*rules.AlertingRule)
		if !ok {
			continue
		}
		for _, a := range alert.ActiveAlerts() {
			if a.State == rules.StateFiring {
				firing[r.Name()] = append(firing[r.Name()], describe(a.Labels.Map(), a.Annotations.Map()))
			}
		}
	}
	for _, a := range u.Alerts {
		if duration(t, a.EvalTime) != at {
			continue
		}
		var want []string
		for _, e := range a.Expected {
			e.Labels["alertname"] = a.Alert
			want = append(want, describe(e.Labels, e.Annotations))
		}
		got := firing[a.Alert]
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %v (- want, + got):\n%s", a.Alert, at, diff)
		}
	}
}

func describe(labels, annotations map[string]string) string { return fmt.Sprint(labels, annotations) }

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// TestEveryAlertIsTested wants to see each alert fire in one test, and not fire in another.
func TestEveryAlertIsTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, u := range readUnitTests(t).Tests {
		for _, a := range u.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Alert] = true
			} else {
				silent[a.Alert] = true
			}
		}
	}
	for _, r := range ruleGroup(t).Rules {
		if r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]) {
			t.Errorf("%s: fires in a test: %v, is silent in another: %v", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

// TestAlertsSayWhatToDo holds the form of each: how bad it is, what has happened, what to do.
func TestAlertsSayWhatToDo(t *testing.T) {
	for _, r := range ruleGroup(t).Rules {
		if r.Alert == "" {
			continue
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		if len(strings.Fields(r.Annotations["summary"])) < 4 || len(strings.Fields(r.Annotations["description"])) < 12 {
			t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
		}
	}
}
