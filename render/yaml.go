package render

import (
	"encoding/json"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// YAML writes a message of Envoy's as Envoy reads it, with texts of several lines as they stand.
func YAML(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return yamlOf(raw)
}

// yamlOf writes a JSON object as YAML, its fields in the order of their names.
func yamlOf(raw []byte) ([]byte, error) {
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	return yaml.MarshalWithOptions(tree, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(false))
}
