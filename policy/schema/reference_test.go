package schema

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"routelimit/policy"
	"routelimit/policy/identity"
	"routelimit/policy/strictjson"
)

const page = "../../docs/configuration.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var tablePlace = regexp.MustCompile(`(?s)(<!-- fields: (\w+) -->\n).*?(<!-- end -->)`)

// With UPDATE_GOLDEN set the tables are written anew.
func TestTablesOfTheReferenceAreThoseOfTheFields(t *testing.T) {
	text := readPage(t)
	tables := map[string]string{}
	for _, l := range append(levels(), level{name: "metadata", Shape: policy.OutlineMetadata(), elsewhere: policy.Outline().Field("default")}) {
		tables[l.name] = table(l)
	}
	want := tablePlace.ReplaceAllStringFunc(text, func(place string) string {
		parts := tablePlace.FindStringSubmatch(place)
		name := parts[2]
		if tables[name] == "" {
			t.Errorf("the page has %q twice, or there is no such level", name)
		}
		defer delete(tables, name)
		return parts[1] + tables[name] + parts[3]
	})
	for name := range tables {
		t.Errorf("the page lacks <!-- fields: %s -->", name)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && !t.Failed() {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		text = want
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("the tables are out of date; run this test with UPDATE_GOLDEN=1\n%s", diff)
	}
}

// table is the fields of a level in Markdown.
func table(l level) string {
	var b strings.Builder
	b.WriteString("| field | value | default | what it does | example |\n|---|---|---|---|---|\n")
	for _, f := range l.fields() {
		standard := "–"
		switch {
		case f.Required:
			standard = "required"
		case f.Default != "":
			standard = "`" + f.Default + "`"
		}
		doc := strings.ToUpper(f.Doc[:1]) + f.Doc[1:]
		if strings.HasPrefix(f.Doc, "`") {
			doc = f.Doc
		}
		row := fmt.Sprintf("`%s` ¦ %s ¦ %s ¦ %s ¦ `%s`", f.Name, allowed(f.Shape), standard, doc, f.Example)
		row = strings.ReplaceAll(row, "|", `\|`)
		b.WriteString("| " + strings.ReplaceAll(row, "¦", "|") + " |\n")
	}
	return b.String()
}

var kindWords = map[strictjson.Kind]string{
	strictjson.Null: "`null`", strictjson.Bool: "`true` or `false`", strictjson.String: "text", strictjson.Array: "list", strictjson.Object: "object",
}

// allowed is what a value may be, in words.
func allowed(s *strictjson.Shape) string {
	switch {
	case s.Values != nil:
		return "`" + strings.Join(s.Values, "`, `") + "`"
	case s.IsDuration:
		return fmt.Sprintf("duration, `%s` to `%s`", strictjson.FormatDuration(time.Duration(s.Least)), strictjson.FormatDuration(time.Duration(s.Most)))
	}
	var words []string
	for _, kind := range s.Kinds {
		word := kindWords[kind]
		if kind == strictjson.Number {
			word = fmt.Sprintf("whole number, %d to %d", s.Least, s.Most)
		}
		words = append(words, word)
	}
	text := strings.Join(words, " or ")
	switch {
	case s.LeastItems > 0 && s.MostItems > 0:
		text += fmt.Sprintf(" of %d to %d", s.LeastItems, s.MostItems)
	case s.LeastItems > 0:
		text += fmt.Sprintf(" of %d or more", s.LeastItems)
	case s.MostItems > 0:
		text += fmt.Sprintf(" of at most %d", s.MostItems)
	}
	return text
}

// Every property of the schema is a row of some table.
func TestEveryFieldOfTheSchemaIsInTheReference(t *testing.T) {
	var document any
	if err := json.Unmarshal(Document(), &document); err != nil {
		t.Fatal(err)
	}
	text, seen := readPage(t), 0
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for name := range properties {
				seen++
				if !strings.Contains(text, "\n| `"+name+"` |") {
					t.Errorf("%s has no row for %q", page, name)
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(document)
	if seen < 50 {
		t.Errorf("only %d properties were seen", seen)
	}
}

var codeBlock = regexp.MustCompile("(?s)```(json|yaml)\n(.*?)```")

func TestExamplesOfTheReferenceAreTaken(t *testing.T) {
	schema, carried := compile(t, ""), compile(t, "#/definitions/envoy_route_metadata")
	blocks := codeBlock.FindAllStringSubmatch(readPage(t), -1)
	if len(blocks) < 5 {
		t.Fatalf("only %d examples", len(blocks))
	}
	for _, block := range blocks {
		if block[1] == "json" {
			parse(t, block[2])
			if err := validate(schema, []byte(block[2])); err != nil {
				t.Errorf("%s\n%v", block[2], err)
			}
			continue
		}
		var routes []struct {
			Metadata struct {
				FilterMetadata map[string]any `yaml:"filter_metadata"`
			}
		}
		if err := yaml.Unmarshal([]byte(block[2]), &routes); err != nil || len(routes) != 1 {
			t.Fatalf("%s\n%v", block[2], err)
		}
		raw, err := json.Marshal(routes[0].Metadata.FilterMetadata["routelimit"])
		if err != nil {
			t.Fatal(err)
		}
		p := parse(t, `{"identities": {"user_id": {"from": "metadata:a/b"}}, "default": null}`)
		if r, err := p.ParseMetadata(raw); err != nil || len(r.Limits) != 2 {
			t.Errorf("%s\n%v", raw, err)
		}
		if err := validate(carried, raw); err != nil {
			t.Errorf("%s\n%v", raw, err)
		}
	}
}

func TestEverySourceIsInTheReference(t *testing.T) {
	text := readPage(t)
	for _, kind := range identity.SourceKinds() {
		_, rest, ok := strings.Cut(text, "\n| `"+kind+":")
		source, _, _ := strings.Cut(rest, "`")
		if _, err := identity.ParseSource(kind + ":" + source); !ok || err != nil {
			t.Errorf("%s: in the page: %v, %v", kind, ok, err)
		}
	}
}

// forwarded is a request as the filter sees it.
type forwarded struct{ header, peer string }

func (f forwarded) Header(name string, line int) (string, bool) {
	return f.header, name == "x-forwarded-for" && line == 0 && f.header != ""
}

func (f forwarded) Property(path string) ([]byte, bool) {
	return []byte(f.peer), path == "source\x00address"
}

// The example of three proxies is worked out as the page says.
func TestG03_ThreeProxiesOfTheReferenceAreThreeHops(t *testing.T) {
	_, rest, _ := strings.Cut(readPage(t), "**Three proxies.**")
	_, header, _ := strings.Cut(rest, "x-forwarded-for: ")
	header, _, _ = strings.Cut(header, "\n")
	rows := regexp.MustCompile("\n\\| `(\\d)` \\| `([0-9.]+)`").FindAllStringSubmatch(rest, -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		p := parse(t, `{"client": {"trusted_hops": `+row[1]+`}}`)
		got, ok := p.Definitions().ClientIP(&identity.Request{Attrs: forwarded{header, "192.0.2.1:40000"}})
		if !ok || got != netip.MustParseAddr(row[2]) {
			t.Errorf("trusted_hops %s: got %v, %v, the page says %s", row[1], got, ok, row[2])
		}
	}
}
