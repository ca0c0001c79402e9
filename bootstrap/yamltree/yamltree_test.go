package yamltree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) *Node {
	t.Helper()
	documents, err := Parse([]byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%v, %v", documents, err)
	}
	return documents[0]
}

func TestEveryValueKnowsItsPlace(t *testing.T) {
	root := parse(t, "a: 1\nb:\n  c: [x, {d: 'y'}]\n  e: |\n    text\n  f: {}\n  g: []\n")
	for path, want := range map[string][2]int{
		"": {1, 1}, "a": {1, 4}, "b": {3, 3}, "b.c": {3, 6}, "b.f": {6, 6}, "b.g": {7, 6},
	} {
		n := root
		if path != "" {
			n = root.At(strings.Split(path, ".")...)
		}
		if got := [2]int{n.Line, n.Column}; got != want {
			t.Errorf("%s stands at %v, want %v", path, got, want)
		}
	}
	if d := root.At("b", "c").Items()[1].At("d"); d.Line != 3 || d.Column != 14 || d.Text() != "y" {
		t.Errorf("got %+v", d)
	}
	if e := root.At("b", "e"); e.Block != 4 || e.Text() != "text\n" {
		t.Errorf("got %+v", e)
	}
}

func TestValueIsWhatJSONKnows(t *testing.T) {
	got := parse(t, "{a: 1, b: 1.5, c: true, d: null, e: text, f: [1, {g: 2}], h: {}, i: [], j: !!str 7}").Value()
	want := map[string]any{
		"a": uint64(1), "b": 1.5, "c": true, "d": nil, "e": "text", "f": []any{uint64(1), map[string]any{"g": uint64(2)}},
		"h": map[string]any{}, "i": []any{}, "j": "7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAliasesAndMergesAreResolved(t *testing.T) {
	root := parse(t, "base: &base {x: 1, y: 2}\nmore: &more {z: 3}\none: *base\ntwo: {<<: *base, y: 5}\nthree: {<<: [*base, *more]}\nself: &self [*self]\n")
	for path, want := range map[string]string{"one.x": "1", "two.x": "1", "two.y": "5", "three.z": "3", "three.y": "2"} {
		if got := root.At(strings.Split(path, ".")...).Text(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if len(root.At("base").Fields()) != 2 {
		t.Error("a merge changed what it merged")
	}
}

func TestNamesAreFoundAsEnvoyFindsThem(t *testing.T) {
	root := parse(t, "useRemoteAddress: true\nper_connection: 5\n")
	if !root.At("use_remote_address").True() || root.At("perConnection") != nil {
		t.Error("a name is found by its snake_case form, whichever the file has")
	}
	if n, ok := root.At("per_connection").Number(); n != 5 || !ok {
		t.Errorf("got %d, %v", n, ok)
	}
}

func TestWhatIsNotThereIsEmpty(t *testing.T) {
	n := parse(t, "a: 1").At("b", "c")
	if n != nil || n.Text() != "" || n.True() || n.Items() != nil || n.Fields() != nil || n.Value() != nil {
		t.Error("something is there")
	}
	if _, ok := n.Number(); ok {
		t.Error("a number is there")
	}
	n.Walk(func(*Node) { t.Error("something is visited") })
}

// Each line doubles the one before.
func TestAliasesOfAliasesDoNotGrowWithoutBound(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1}\n")
	for i := 1; i < 60; i++ {
		name, before := "a"+string(rune('0'+i/10))+string(rune('0'+i%10)), "a0"
		if i > 1 {
			before = "a" + string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		}
		b.WriteString(name + ": &" + name + " [*" + before + ", *" + before + "]\n")
	}
	root := parse(t, b.String())
	visited := 0
	root.Walk(func(*Node) { visited++ })
	if visited != 2 {
		t.Errorf("%d mappings are visited", visited)
	}
	root.Value()
}

func TestBrokenYAMLNamesThePlace(t *testing.T) {
	_, err := Parse([]byte("a: 1\nb: [\n"))
	var broken *SyntaxError
	if !errors.As(err, &broken) || broken.Line != 2 || strings.Contains(err.Error(), "\n") {
		t.Errorf("error = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1", "- [x, {y: z}]", "a: &a [*a]", "<<: {a: 1}\n", "x: |\n  y\n", "? a\n: b\n", "---\n...\n---\na", "!!map {a: !!int 1}", "a: *b", "{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		documents, err := Parse(raw)
		if err != nil {
			return
		}
		for _, document := range documents {
			document.Walk(func(n *Node) { n.At("a", "b").Text() })
			document.Value()
		}
	})
}
