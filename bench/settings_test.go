package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(service string, args ...string) (settings, error) {
	return parseSettings(args, func(name string) string {
		if name == "RATELIMIT_BIN" {
			return service
		}
		return ""
	}, io.Discard)
}

func TestParseSettingsFillsInWhatIsNotGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	for _, c := range []struct {
		name, service string
		args          []string
		want          settings
	}{
		{"nothing given", "", nil, settings{Rounds: 5, Seconds: 3, Warmup: 3, Connections: []int{1, 8, 64},
			Columns: []string{keyNone, keyIdle, keyProxied, keyDirect}}},
		{"the service given", "/bin/ratelimit", nil, settings{Rounds: 5, Seconds: 3, Warmup: 3, Connections: []int{1, 8, 64},
			Columns: keys(allColumns())}},
		{"all given", "/bin/ratelimit",
			[]string{"-rounds", "2", "-seconds", "1", "-warmup", "4", "-connections", "16, 2", "-columns", "ratelimit,none", "-json", file, "-overshoot"},
			settings{Overshoot: true, Rounds: 2, Seconds: 1, Warmup: 4, Connections: []int{16, 2}, Columns: []string{keyNone, keyService}, JSON: file}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.EnvoyWorkers, c.want.dir, c.want.service = 1, ".", c.service
			got, err := parse(c.service, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSettingsRefusesWhatCannotBeMeasured(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-rounds", "0"}, "-rounds 0"},
		{[]string{"-seconds", "-1"}, "-seconds -1"},
		{[]string{"-warmup", "0"}, "-warmup 0"},
		{[]string{"-connections", ""}, "no number"},
		{[]string{"-connections", "1,0"}, `"0"`},
		{[]string{"-connections", "1,many"}, `"many"`},
		{[]string{"-connections", "1001"}, `"1001"`},
		{[]string{"-connections", "8,8"}, "8 twice"},
		{[]string{"-columns", "none,fast"}, `no "fast"`},
		{[]string{"-columns", "ratelimit"}, "RATELIMIT_BIN="},
		{[]string{"-json", filepath.Join(t.TempDir(), "missing", "f")}, "cannot write"},
		{[]string{"fast"}, `"fast" is no flag`},
		{[]string{"-fast"}, "-fast"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			s, err := parse("", c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("parseSettings = %+v, %v; want an error with %q", s, err, c.want)
			}
		})
	}
}
