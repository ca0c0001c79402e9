package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"routelimit/policy"
)

func testEnv(name string) (string, bool) {
	return "0123456789abcdef", name == "GOOD_KEY"
}

func mustParse(t *testing.T, raw []byte) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(raw, testEnv)
	if err != nil {
		t.Fatalf("%s\n%v", raw, err)
	}
	return p
}

func show(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		severity := "warning"
		if f.Error {
			severity = "error"
		}
		fmt.Fprintf(&b, "%d:%d: %s %s at %s: %s\n", f.Line, f.Column, severity, f.Rule, f.Path, f.Text)
	}
	return b.String()
}

// Each policy has what is found in it in a file of the same name. With
// UPDATE_GOLDEN set the files are written anew.
func TestFindingsAreThoseOfTheFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	var rules []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := Check(mustParse(t, raw), raw, nil)
		for _, f := range found {
			rules = append(rules, f.Rule)
			if !strings.Contains(f.Text, "; ") || f.Line == 0 || f.Column == 0 || f.Path == "" && f.Rule != "nothing-limited" {
				t.Errorf("%s: %+v says not where, or not what to do", path, f)
			}
		}
		golden := strings.TrimSuffix(path, ".json") + ".txt"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(golden, []byte(show(found)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), show(found)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	slices.Sort(rules)
	if rules = slices.Compact(rules); len(rules) != len(routeRules)+len(policyRules) {
		t.Errorf("%d rules of %d are seen: %v", len(rules), len(routeRules)+len(policyRules), rules)
	}
}

// The policy of envoy.yaml and of the README gives no reason for advice.
func TestTheShippedPolicyNeedsNoAdvice(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```json\n")
	raw, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README holds no policy")
	}
	if found := Check(mustParse(t, []byte(raw)), []byte(raw), nil); len(found) > 0 {
		t.Error(show(found))
	}
}

func metadataRoute(t *testing.T, p *policy.Policy, fields map[string]any) *policy.Route {
	t.Helper()
	values, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(&core.Metadata{FilterMetadata: map[string]*structpb.Struct{"routelimit": values}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.FromRouteMetadata(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhatEnvoysRoutesDeclareUsesIdentitiesToo(t *testing.T) {
	raw := []byte(`{"identities": {"name": {"from": "body:name"}}, "body": {"timeout": "1s"}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`)
	p := mustParse(t, raw)
	if found := Check(p, raw, nil); len(found) != 2 {
		t.Errorf("without it: %s", show(found))
	}
	declared := metadataRoute(t, p, map[string]any{"route": "POST /a", "identity": "ip+name", "limit": 5, "window": "1m"})
	if found := Check(p, raw, []*policy.Route{declared}); len(found) != 0 {
		t.Errorf("with it: %s", show(found))
	}
}

func TestARouteOfEnvoysIsCheckedByItself(t *testing.T) {
	p := mustParse(t, []byte(`{"identities": {"tenant": {"from": "path:tenant"}}, "default": {"identity": "ip", "limit": 1, "window": "1m"}}`))
	r := metadataRoute(t, p, map[string]any{"route": "GET /a/:id", "limits": []any{
		map[string]any{"identity": "tenant", "limit": 5, "window": "1m"},
		map[string]any{"identity": "ip", "limit": 500, "window": "1m", "algorithm": "sliding_log"},
	}})
	const want = "0:0: error path-parameter at : \"tenant\" is path:tenant, which \"GET /a/:id\" does not have, so it is never present; name the parameter in the route, or write another identity\n" +
		"0:0: warning sliding-log-large at : a log of 500 entries for each caller, 6 bytes each, is read and written with every request; write at most 200, or \"algorithm\": \"sliding_window\"\n"
	if diff := cmp.Diff(want, show(CheckRoute(p, r))); diff != "" {
		t.Error(diff)
	}
}
