package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"routelimit/bootstrap/lint"
	"routelimit/policy"
)

const (
	importedLimits = "../../docs/examples/import/limits.yaml"
	importedEnvoy  = "../../docs/examples/import/envoy.yaml"
)

func TestImportPrintsAPolicyAndWhatIsLost(t *testing.T) {
	code, out, stderr := call(t, "import", "--ratelimit", importedLimits, "--envoy", importedEnvoy)
	if code != exitFindings || !strings.Contains(stderr, importedEnvoy+":47:17: lost: \"reports\"") || !strings.HasSuffix(stderr, "8 limits on 5 routes; lost: 3; 1 note\n") {
		t.Errorf("code %d, stderr\n%s", code, stderr)
	}
	if _, err := policy.Parse([]byte(out), os.LookupEnv); err != nil {
		t.Errorf("%v in\n%s", err, out)
	}
	found, err := lint.File([]byte(out), lint.Options{Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found { // what is not clean is said
		if f.Error || !strings.Contains(stderr, "routelimit lint warns: "+f.Rule) {
			t.Errorf("nothing is said of %+v", f)
		}
	}

	code, out, stderr = call(t, "import", "--ratelimit", importedLimits, "--envoy", importedEnvoy, "--output", "json")
	var report struct {
		Policy   map[string]any
		Lost     int
		Findings []importFound
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFindings || stderr != "" {
		t.Fatalf("code %d, %v, stderr %q", code, err, stderr)
	}
	if report.Lost != 3 || len(report.Findings) != 4 || report.Policy["routes"] == nil || report.Findings[0].File != importedEnvoy || report.Findings[0].Line != 45 {
		t.Errorf("%+v", report)
	}
}

func TestImportExitsZeroWhereAllIsCarriedOver(t *testing.T) {
	limits := write(t, "limits.yaml", "domain: d\ndescriptors:\n- key: remote_address\n  rate_limit: {unit: minute, requests_per_unit: 5}\n")
	routes := write(t, "rds.yaml", "virtual_hosts:\n- domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: x, rate_limits: [{actions: [{remote_address: {}}]}]}\n")
	code, out, stderr := call(t, "import", "--ratelimit", limits, "--envoy", routes)
	if code != exitOK || !strings.Contains(out, `"default": {"name": "remote_address", "identity": "ip", "limit": 5, "window": "1m", "algorithm": "fixed_window"}`) ||
		!strings.HasSuffix(stderr, "1 limit on 1 route; lost: 0; 1 note\n") {
		t.Errorf("code %d, stderr %q, stdout %s", code, stderr, out)
	}
}

func TestImportSaysWhatItCannotRead(t *testing.T) {
	broken := write(t, "broken.yaml", "domain: [")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {nil, "both are needed: give the service's files by --ratelimit and Envoy's by --envoy"},
		"one kind":         {[]string{"--ratelimit", importedLimits}, "both are needed"},
		"no file":          {[]string{"--ratelimit", "nowhere.yaml", "--envoy", importedEnvoy}, "give --ratelimit a file of envoyproxy/ratelimit"},
		"no YAML":          {[]string{"--ratelimit", broken, "--envoy", importedEnvoy}, "broken.yaml:1:"},
		"no routes":        {[]string{"--ratelimit", importedLimits, "--envoy", importedLimits}, "this is a configuration of the rate limit service; give it by --ratelimit"},
		"swapped":          {[]string{"--ratelimit", importedEnvoy, "--envoy", importedLimits}, "this is an Envoy configuration; give it by --envoy"},
		"no file of Envoy": {[]string{"--ratelimit", importedLimits, "--envoy", "nowhere.yaml"}, "give --envoy a file of Envoy's configuration"},
		"no such routes":   {[]string{"--ratelimit", importedLimits, "--envoy", importedEnvoy, "--route-config", "x"}, `there is no route configuration "x"; there are "public"`},
		"an unknown form":  {[]string{"--ratelimit", importedLimits, "--envoy", importedEnvoy, "--output", "xml"}, `--output "xml" is unknown`},
		"surplus argument": {[]string{"x"}, "--help"},
	} {
		code, out, stderr := call(t, append([]string{"import"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, stderr)
		}
	}
}
