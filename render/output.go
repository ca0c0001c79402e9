package render

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Output is what a platform reads, and what a person has to know about it.
type Output struct {
	Objects []any    // messages of Envoy's, or resources of a platform
	Notes   []string // what is left to do, one sentence each
}

// YAML writes the objects one after the other, with the notes as comments in front.
func (o Output) YAML() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("# Made by routelimit render. Change the policy and render again rather than this file.\n")
	for _, note := range o.Notes {
		out.WriteString("# " + strings.ReplaceAll(note, "\n", "\n# ") + "\n")
	}
	for i, object := range o.Objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := YAML(object)
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// YAML writes one message of Envoy's, or one resource, with its fields in the order of their names and texts of several
// lines as they stand.
func YAML(object any) ([]byte, error) {
	raw, err := jsonOf(object)
	if err != nil {
		return nil, err
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	dropUnset(tree)
	return yaml.MarshalWithOptions(numbers(tree), yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(false))
}

// dropUnset takes out of a resource what its types write though nobody has set it: the status, which is its controller's to
// write, and the checksum of an image. A null of the policy stays: it says something.
func dropUnset(tree any) {
	m, ok := tree.(map[string]any)
	if !ok || m["kind"] == nil {
		return
	}
	delete(m, "status")
	spec, _ := m["spec"].(map[string]any)
	plugins, _ := spec["wasm"].([]any)
	for _, one := range plugins {
		plugin, _ := one.(map[string]any)
		code, _ := plugin["code"].(map[string]any)
		if image, _ := code["image"].(map[string]any); image["sha256"] == nil {
			delete(image, "sha256")
		}
	}
}

// jsonOf is compact: protojson adds blanks by chance, so that nobody relies on where they stand.
func jsonOf(object any) ([]byte, error) {
	m, ok := object.(proto.Message)
	if !ok {
		return json.Marshal(object)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, raw)
	return out.Bytes(), err
}

// numbers makes numbers of what the JSON reader kept as text, so that whole ones are written as such.
func numbers(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = numbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = numbers(inner)
		}
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		fraction, _ := v.Float64()
		return fraction
	}
	return tree
}
