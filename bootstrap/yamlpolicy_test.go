package bootstrap

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPolicyInYAMLKeepsItsLines(t *testing.T) {
	const text = `# the policy
identities:
  user: &from
    from: "header:x-a<b"

routes:
  GET /a: {identity: ip,
    limit: 1.5, tags: [a, true, null]}
  "POST /b": {x: *from, y: 2}
`
	placed, ok := PolicyInYAML([]byte(text))
	if !ok {
		t.Fatal("it is a policy")
	}
	var got, want any
	if err := json.Unmarshal([]byte(placed.Text), &got); err != nil {
		t.Fatalf("%v in\n%s", err, placed.Text)
	}
	json.Unmarshal([]byte(`{"identities": {"user": {"from": "header:x-a<b"}}, "routes": {"GET /a": {"identity": "ip", "limit": 1.5,
		"tags": ["a", true, null]}, "POST /b": {"x": {"from": "header:x-a<b"}, "y": 2}}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	yamlLines, jsonLines := strings.Split(text, "\n"), strings.Split(placed.Text, "\n")
	for i, line := range jsonLines {
		for _, word := range []string{"identities", "user", "routes", "GET /a", "limit", "null", "POST /b", `"y"`} {
			if strings.Contains(line, word) && !strings.Contains(yamlLines[i], strings.Trim(word, `"`)) {
				t.Errorf("%q stands in line %d:\n%s", word, i+1, placed.Text)
			}
		}
	}
	if line, _, exact := placed.Place(7, 30); line != 7 || exact {
		t.Errorf("line 7 is line %d, exact %v", line, exact)
	}
}

func TestWhatIsNoPolicyInYAML(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for name, text := range map[string]string{
		"JSON":             `{"default": null}`,
		"nothing":          "",
		"a list":           "- default\n",
		"other YAML":       "a: 1\n",
		"two documents":    "default: {}\n---\ndefault: {}\n",
		"no YAML":          "default: [",
		"a bootstrap":      "static_resources: {}\ndefault: {}\n",
		"a virtual host":   "name: all\nroutes: [{match: {prefix: /}}]\n",
		"Envoy's types":    "routes: {x: {'@type': type.googleapis.com/x}}\n",
		"aliases' aliases": bomb + "default: *a29\n",
	} {
		if _, ok := PolicyInYAML([]byte(text)); ok {
			t.Errorf("%s: it is taken for a policy", name)
		}
	}
}
