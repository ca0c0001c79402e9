package lint

import (
	"os"
	"testing"
)

// FuzzFile: no file makes it panic, and every finding has a place.
func FuzzFile(f *testing.F) {
	shipped, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped)
	for _, seed := range []string{
		proxy(`{"default": `+oneLimit+`}`, `["*"]`, "{match: {prefix: /}"+toX),
		proxy(`{"default": `+oneLimit+`}`, `[1, {}]`, "{route: {}}", "{match: 1, route: {}, metadata: {filter_metadata: {routelimit: 7}}}", "x"),
		`{"default": null}`, `{"default": {"identity": "ip"}`, "a: &a [*a]", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, o := range []Options{{Env: noEnv}, {Env: noEnv, RequireDeclared: true}} {
			found, err := File(file, o)
			if err != nil && found != nil {
				t.Fatalf("both %v and %v", found, err)
			}
			for _, finding := range found {
				if finding.Line < 1 || finding.Text == "" || finding.Rule == "" {
					t.Fatalf("%+v", finding)
				}
			}
		}
	})
}
