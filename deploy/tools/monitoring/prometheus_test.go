package monitoring

import (
	"os"
	"testing"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"

	"routelimit/bootstrap"
)

// TestPrometheusAsksEnvoysAdminPage loads the configuration by Prometheus' own reader, and compares the address that it asks
// with envoy.yaml.
func TestPrometheusAsksEnvoysAdminPage(t *testing.T) {
	c, err := config.LoadFile("../../prometheus/prometheus.yml", false, promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.RuleFiles) != 1 || c.RuleFiles[0] != "../../prometheus/alerts.yml" {
		t.Errorf("rule files %v", c.RuleFiles)
	}
	text, err := os.ReadFile("../../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	envoy, err := bootstrap.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := c.GetScrapeConfigs()
	if err != nil || len(jobs) != 1 || jobs[0].MetricsPath != "/stats/prometheus" {
		t.Fatalf("jobs %v, %v", jobs, err)
	}
	for _, a := range envoy.Addresses() {
		if a.Name == "admin" && (a.Host != "127.0.0.1" || a.Port != 9901) {
			t.Errorf("the admin page of envoy.yaml is at %v; change prometheus.yml with it", a)
		}
	}
}
