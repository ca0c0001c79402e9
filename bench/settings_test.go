package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/bench/load"
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
	s, err := parse("")
	if err != nil {
		t.Fatal(err)
	}
	hot := func(n int) loading { return loading{Connections: n, Identities: load.Hot} }
	loads := []loading{hot(1), hot(8), hot(64), hot(256), {64, 0, load.Many}, {64, 0, load.Mix}, {256, 1000, load.Mix}, {256, 4000, load.Mix}}
	if diff := cmp.Diff(loads, s.Loads); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	if !s.Headers || s.Rounds != 5 || s.Seconds != 2 || s.Warmup != 2 || s.EnvoyWorkers != 1 {
		t.Errorf("settings %+v", s)
	}
	for _, text := range s.left {
		if !strings.HasPrefix(text, plainService) && !strings.HasPrefix(text, keyLease) {
			t.Errorf("left out: %s", text)
		}
	}
	if d := s.duration(); d < 5*time.Minute || d > 15*time.Minute {
		t.Errorf("it takes %v", d)
	}
}

func TestParseSettingsTakesWhatIsGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	got, err := parse("/bin/ratelimit", "-rounds", "2", "-seconds", "1", "-warmup", "4", "-connections", "16, 2", "-rates", "", "-identities", "mix,hot",
		"-columns", "ratelimit,none", "-headers=false", "-json", file, "-svg", file, "-overshoot")
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		Rounds: 2, Seconds: 1, Warmup: 4, Columns: []string{keyNone, plainService}, EnvoyWorkers: 1, JSON: file, SVG: file, Overshoot: true,
		Loads: []loading{{16, 0, load.Mix}, {2, 0, load.Mix}, {2, 0, load.Hot}}, service: "/bin/ratelimit", dir: ".",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
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
		{[]string{"-connections", ""}, "-connections is empty"},
		{[]string{"-connections", "1,0"}, `"0"`},
		{[]string{"-connections", "1001"}, `"1001"`},
		{[]string{"-rates", "1e3"}, `"1e3"`},
		{[]string{"-identities", ""}, "-identities is empty"},
		{[]string{"-identities", "cold"}, `no "cold"`},
		{[]string{"-columns", "none,fast"}, `no "fast"`},
		{[]string{"-columns", "ratelimit"}, "RATELIMIT_BIN="},
		{[]string{"-columns", "deny", "-identities", "many"}, "begin with hot"},
		{[]string{"-json", filepath.Join(t.TempDir(), "missing", "f")}, "cannot write"},
		{[]string{"-svg", filepath.Join(t.TempDir(), "missing", "f")}, "cannot write"},
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

// TestAColumnWhosePolicyIsRefusedIsLeftOutOrFails gives a column a policy that no version knows.
func TestAColumnWhosePolicyIsRefusedIsLeftOutOrFails(t *testing.T) {
	c := column{policy: func(bool) string { return `{"lease": "of life"}` }}
	err := c.problem(settings{Loads: []loading{at64}})
	if err == nil || !strings.Contains(err.Error(), "this version refuses") {
		t.Errorf("problem = %v", err)
	}
}
