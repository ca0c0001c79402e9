// Package compose tests docker-compose.yml and the Dockerfile as far as that is possible without a container engine: by the
// projects' own loaders, and by running what the containers would run.
package compose

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// root is the project's folder.
const root = "../../.."

// load reads docker-compose.yml with some profiles, and an environment with nothing in it.
func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithWorkingDirectory(root), cli.WithProfiles(profiles), cli.WithInterpolation(true), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatalf("with %v: %v", profiles, err)
	}
	return project
}

var nodes = []string{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5", "redis-6"}

func TestEachProfileStartsItsServices(t *testing.T) {
	one := []string{"envoy", "pod", "redis", "upstream"}
	several := append([]string{"envoy-cluster", "pod", "redis-form", "upstream"}, nodes...)
	watching := []string{"grafana", "prometheus"}
	for _, tt := range []struct{ profiles, want []string }{
		{nil, nil},
		{[]string{"redis"}, one},
		{[]string{"cluster"}, several},
		{[]string{"redis", "monitoring"}, append(watching, one...)},
		{[]string{"cluster", "monitoring"}, append(watching, several...)},
	} {
		got := load(t, tt.profiles...).ServiceNames()
		slices.Sort(got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(slices.Equal[[]string])); diff != "" {
			t.Errorf("%v (- want, + got):\n%s", tt.profiles, diff)
		}
	}
}

// all is everything at once, for what holds of each service.
func all(t *testing.T) map[string]types.ServiceConfig { return load(t, "*").Services }

func TestVariablesHaveDefaults(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	variables := template.ExtractVariables(file, template.DefaultPattern)
	for name, v := range variables {
		if v.DefaultValue == "" {
			t.Errorf("%s has no default", name)
		}
	}
	if len(variables) == 0 {
		t.Error("no variable was found, though ROUTELIMIT_PORT is one")
	}
}

func TestOnlyWhatIsMeantForPeopleIsPublishedAndOnThisMachineAlone(t *testing.T) {
	published := map[string]string{}
	for name, s := range all(t) {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, p.Published, p.HostIP)
			}
			published[name] += p.Published + " "
		}
		if inside := s.NetworkMode == "service:pod"; inside == (name == "pod" || name == "grafana") {
			t.Errorf("%s: network %q", name, s.NetworkMode)
		}
	}
	if diff := cmp.Diff(map[string]string{"pod": "10000 ", "grafana": "3000 "}, published); diff != "" {
		t.Errorf("published (- want, + got):\n%s", diff)
	}
	for _, conf := range []string{"redis.conf", "redis-cluster.conf"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy/compose", conf))
		if err != nil || !strings.Contains(string(text), "\nbind 127.0.0.1\n") || !strings.Contains(string(text), "\nmaxmemory-policy noeviction\n") {
			t.Errorf("%s, %v:\n%s", conf, err, text)
		}
	}
}

func TestContainersHaveFewRights(t *testing.T) {
	users := dockerfileUsers(t)
	for name, s := range all(t) {
		user := s.User
		if s.Build != nil {
			user = users[s.Build.Target]
		}
		if user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
			t.Errorf("%s runs as %q", name, user)
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) || s.Privileged {
			t.Errorf("%s: capabilities dropped %v, security options %v", name, s.CapDrop, s.SecurityOpt)
		}
		if !s.ReadOnly && name != "grafana" { // it writes its database into its own folders
			t.Errorf("%s may write into its image", name)
		}
	}
}

func TestImagesArePinnedAndFilesExist(t *testing.T) {
	stages := dockerfileUsers(t)
	for name, s := range all(t) {
		switch {
		case s.Build != nil:
			if _, ok := stages[s.Build.Target]; !ok {
				t.Errorf("%s is built from stage %q, which the Dockerfile does not have", name, s.Build.Target)
			}
		case !pinned(s.Image):
			t.Errorf("%s: image %s names no version", name, s.Image)
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type != types.VolumeTypeBind || err != nil || !v.ReadOnly {
				t.Errorf("%s: volume %s from %s, read only %v: %v", name, v.Type, v.Source, v.ReadOnly, err)
			}
		}
		for other := range s.DependsOn {
			if !slices.Contains(slices.Collect(maps.Keys(all(t))), other) {
				t.Errorf("%s waits for %s", name, other)
			}
		}
	}
}

// pinned says whether an image's tag holds a version with at least two numbers.
func pinned(image string) bool {
	_, tag, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return found && strings.Contains(tag, ".")
}

// TestGrafanaFindsItsDashboardAndPrometheus compares what it is told with where the containers have it.
func TestGrafanaFindsItsDashboardAndPrometheus(t *testing.T) {
	services := all(t)
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	var sources struct {
		Datasources []struct{ URL, Type string }
	}
	for file, into := range map[string]any{"dashboards/routelimit.yml": &dashboards, "datasources/prometheus.yml": &sources} {
		text, err := os.ReadFile(filepath.Join(root, "deploy/grafana/provisioning", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	mounted := false
	for _, v := range services["grafana"].Volumes {
		mounted = mounted || v.Target == dashboards.Providers[0].Options.Path+"/routelimit.json"
	}
	if !mounted {
		t.Errorf("no volume of grafana brings the dashboard to %v", dashboards)
	}
	// Prometheus is in the pod's network, on its usual port.
	if s := sources.Datasources[0]; s.URL != "http://pod:9090" || s.Type != "prometheus" || services["prometheus"].NetworkMode != "service:pod" {
		t.Errorf("the data source is %+v", s)
	}
}
