package schema

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// committed is the file that people point their editors to.
const committed = "../schema.json"

// With UPDATE_GOLDEN set the file is written anew.
func TestTheCommittedSchemaIsTheGeneratedOne(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(committed, Document(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(file), string(Document())); diff != "" {
		t.Errorf("%s is not what is generated; run this test with UPDATE_GOLDEN=1\n%s", committed, diff)
	}
}

func compile(t testing.TB, part string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Document()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(ID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(ID + part)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate says what a schema finds in a JSON text.
func validate(schema *jsonschema.Schema, raw []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func policyFiles(t testing.TB, folder string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/" + folder + "/*.json")
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

func TestEveryGoodPolicyIsValid(t *testing.T) {
	schema := compile(t, "")
	for name, raw := range policyFiles(t, "good", 15) {
		if name == "blank" { // no configuration at all, which is no JSON either
			continue
		}
		if err := validate(schema, raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const (
	longer    = "a pattern cannot say how long a duration is"
	repeated  = "a schema sees what is left of a key that occurs twice"
	elsewhere = "a schema cannot hold names against names elsewhere in the document"
	matching  = "a schema cannot compare what templates match"
	outside   = "a schema knows no environment"
	product   = "a schema cannot multiply"
	together  = "which fields of a route a lease goes with is more than conditions in a schema can say readably"
)

// beyond are the bad policies that no JSON Schema can tell from good ones.
var beyond = map[string]string{
	"body-timeout-short":           longer,
	"redis-timeout-long":           longer,
	"redis-timeout-zero":           longer,
	"window-half-a-second":         longer,
	"window-too-long":              longer,
	"window-with-milliseconds":     longer,
	"window-zero":                  longer,
	"repeated-field":               repeated,
	"repeated-key":                 repeated,
	"repeated-key-escaped":         repeated,
	"identity-undeclared":          elsewhere,
	"identity-unknown":             elsewhere,
	"name-meets-default-name":      elsewhere,
	"name-twice":                   elsewhere,
	"name-unnamed-twice":           elsewhere,
	"route-path-parameters":        elsewhere,
	"route-same-after-normalising": matching,
	"route-same-ignoring-case":     matching,
	"route-same-shape":             matching,
	"route-unreachable":            matching,
	"hash-key-not-set":             outside,
	"hash-key-short":               outside,
	"limit-times-window-too-large": product,
	"plans-times-window-too-large": product,
	"plans-burst-too-large":        product,
	"plans-repeated":               repeated,
	"lease-size":                   product,
	"lease-several":                elsewhere,
	"lease-unsound":                together,
}

func TestEveryBadPolicyIsInvalidWhereASchemaCanTell(t *testing.T) {
	schema := compile(t, "")
	unseen := maps.Clone(beyond)
	for name, raw := range policyFiles(t, "bad", 100) {
		err := validate(schema, raw)
		why, excused := unseen[name]
		switch {
		case err == nil && !excused:
			t.Errorf("%s is valid", name)
		case err != nil && excused:
			t.Errorf("%s is invalid (%v), although %s", name, err, why)
		}
		delete(unseen, name)
	}
	for name := range unseen {
		t.Errorf("there is no bad policy %q", name)
	}
}
