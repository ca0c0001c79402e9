package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testEnv is the environment of the files under testdata.
func testEnv(name string) (string, bool) {
	value, ok := map[string]string{"SHORT_KEY": "tooshort", "GOOD_KEY": "0123456789abcdef0123456789abcdef"}[name]
	return value, ok
}

// Each bad policy has its exact messages in a file of the same name.
func TestG30_BadPoliciesAreRefusedWithTheirMessages(t *testing.T) {
	for name, raw := range policyFiles(t, "testdata/bad", 100) {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(raw, testEnv)
			if err == nil || p != nil {
				t.Fatal("the policy was accepted")
			}
			compareGolden(t, filepath.Join("testdata/bad", name+".txt"), err.Error()+"\n")
			for _, problem := range err.(Errors) {
				if problem.Line == 0 || problem.Column == 0 {
					t.Errorf("no place: %v", problem)
				}
			}
		})
	}
}

// Each good policy has what was made of it in a file of the same name.
func TestGoodPoliciesAreHonouredExactly(t *testing.T) {
	for name, raw := range policyFiles(t, "testdata/good", 15) {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(raw, testEnv)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, filepath.Join("testdata/good", name+".txt"), describe(p))
		})
	}
}

func policyFiles(t *testing.T, folder string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(paths) < least {
		t.Fatalf("%d files in %s, want at least %d: %v", len(paths), folder, least, err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".json")] = raw
	}
	return files
}

// compareGolden compares with a file; with UPDATE_GOLDEN set it writes it anew.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func describe(p *Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "empty %v, mode %d, refuse undeclared %v, count preflights %v, ignore path case %v\n",
		p.Empty, p.Mode, p.RefuseUndeclared, p.CountPreflights, p.Paths.IgnoreCase)
	fmt.Fprintf(&b, "redis %+v\nbody %+v\nlog %+v\nanswer %+v\n", p.Redis, p.Body, p.Log, p.Answer)
	fmt.Fprintf(&b, "deny cache %+v\nbreaker %+v\nlocal %+v\nnever unasked %v\n", p.DenyCache, p.Breaker, p.Local, p.NeverUnasked)
	for _, r := range p.Routes {
		describeRoute(&b, r)
	}
	if p.Default != nil {
		describeRoute(&b, p.Default)
	}
	return b.String()
}

func describeRoute(b *strings.Builder, r *Route) {
	fmt.Fprintf(b, "route %s from %q, on error %d, never unasked %v, one key %v, lasting %v, needs body %v, exempt %v",
		r.Key, r.Template, r.OnError, r.NeverUnasked, r.OneKey, r.Lasting, r.NeedsBody, r.Exempt)
	for _, component := range r.ExemptCallers.Components() {
		fmt.Fprintf(b, " and some of %s", component.Name)
	}
	b.WriteString("\n")
	for _, l := range r.Limits {
		fmt.Fprintf(b, "  %q by %s: %d (burst %d) in %v, %s, cost %d, bucket %q, count %v, shadow %v, key %q\n",
			l.Name, l.Identity, l.Limit.Limit, l.Burst, l.Window, l.Algorithm, l.Cost, l.Bucket, l.Count, l.Shadow, l.keyHead)
	}
	for _, l := range r.Limits {
		if l.Lease != 0 {
			fmt.Fprintf(b, "  %q leases %d, its route %d\n", l.Name, l.Lease, r.Lease)
		}
		if l.varies != nil {
			fmt.Fprintf(b, "  %q varies: plans %+v, cost from %q, enforced for %d%%\n", l.Name, l.Plans, l.CostFrom, l.EnforcePercent)
		}
	}
	if r.Blocked != nil {
		fmt.Fprintf(b, "  blocked by %q\n", r.Blocked.Name)
	}
}
