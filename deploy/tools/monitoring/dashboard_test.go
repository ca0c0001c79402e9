package monitoring

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

const dashboardFile = "../../grafana/routelimit.json"

// TestDashboardFileIsTheOneThatIsMade compares it; UPDATE_GOLDEN=1 writes it.
func TestDashboardFileIsTheOneThatIsMade(t *testing.T) {
	made, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(dashboardFile, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, held) {
		t.Errorf("%s is not what panels.go makes; write it with: UPDATE_GOLDEN=1 go test ./monitoring\n%s", dashboardFile,
			cmp.Diff(string(held), string(made)))
	}
}

// TestDashboardIsWhatGrafanaReads loads the file into Grafana's own types, and finds nothing missing when they are written
// again: a field that they do not know would be.
func TestDashboardIsWhatGrafanaReads(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard.Dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	again, err := json.MarshalIndent(d, "", "  ")
	if diff := cmp.Diff(string(text), string(again)+"\n"); err != nil || diff != "" {
		t.Errorf("read and written again (- file, + again), %v:\n%s", err, diff)
	}
	if d.Id != nil || d.Uid == nil || *d.Uid != "routelimit" {
		t.Errorf("id %v, uid %v: a provisioned dashboard has no id, and a uid that stays", d.Id, d.Uid)
	}
	if bytes.Contains(text, []byte("__inputs")) {
		t.Error("a provisioned dashboard asks for no inputs")
	}
	ids := map[uint32]bool{}
	for _, p := range d.Panels {
		var id uint32
		if p.RowPanel != nil {
			id = p.RowPanel.Id
		} else {
			id = *p.Panel.Id
		}
		if ids[id] {
			t.Errorf("two panels have the id %d", id)
		}
		ids[id] = true
	}
	if len(ids) < 20 {
		t.Errorf("%d panels", len(ids))
	}
}

func TestEveryPanelSaysWhatItShowsAndInWhichUnit(t *testing.T) {
	known := map[string]bool{units.RequestsPerSecond: true, units.PercentUnit: true, units.Microseconds: true, units.Short: true}
	for _, r := range rows {
		titles := map[string]bool{}
		for _, p := range r.panels {
			if len(strings.Fields(p.about)) < 8 || !known[p.unit] || len(p.queries) == 0 {
				t.Errorf("%s: about %q, unit %q, %d queries", p.title, p.about, p.unit, len(p.queries))
			}
			if titles[p.title] {
				t.Errorf("%s stands twice under %s", p.title, r.title)
			}
			titles[p.title] = true
		}
	}
}
