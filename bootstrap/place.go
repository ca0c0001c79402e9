package bootstrap

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Placed is a plugin configuration together with where it stands in the file.
type Placed struct {
	Text string // as the module gets it
	line int    // of the file: where Text's first line stands, or the setting that holds Text
	// indent is by how many columns Text is set in, or -1 where its lines are not those of the file: it is quoted, folded
	// or no text but YAML.
	indent int
}

// Line is where the configuration starts in the file, from 1.
func (p Placed) Line() int { return p.line }

// Place turns a line and column of Text into those of the file, all from 1. It says no where Text does not stand in the
// file line for line; then Line is as near as one can get.
func (p Placed) Place(line, column int) (fileLine, fileColumn int, exact bool) {
	if p.indent < 0 {
		return p.line, 1, false
	}
	return p.line + line - 1, column + p.indent, true
}

// Policies finds every policy in a YAML file: the configurations of the plugins that Plugins would find and that are not
// the gateway's. The file may hold several documents.
func Policies(file []byte) ([]Placed, error) {
	parsed, err := parser.ParseBytes(file, 0)
	if err != nil {
		return nil, notYAML(err)
	}
	finder := &finder{lines: strings.Split(string(file), "\n")}
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			ast.Walk(finder, doc.Body)
		}
	}
	return finder.found, finder.err
}

// finder visits every mapping of a file.
type finder struct {
	lines []string
	found []Placed
	err   error
}

// Visit is called by ast.Walk.
func (f *finder) Visit(node ast.Node) ast.Visitor {
	if config := child(node, "config"); config != nil && strings.HasSuffix(scalar(child(node, "@type")), "/"+wasmFilter) {
		if err := f.add(config); err != nil && f.err == nil {
			f.err = err
		}
	}
	return f
}

// add records a plugin's configuration if the plugin is routelimit and not the gateway.
func (f *finder) add(config ast.Node) error {
	m := map[string]any{}
	for _, key := range []string{"name", "vm_config", "configuration"} {
		var value any
		node := child(config, key)
		if node == nil {
			continue
		}
		if err := yaml.NodeToValue(node, &value); err != nil && key == "configuration" {
			return fmt.Errorf("the plugin configuration at line %d cannot be read: %w; write it without aliases",
				node.GetToken().Position.Line, err)
		}
		m[key] = value
	}
	plugin := Plugin{m}
	if !ours(m) || plugin.Gateway() {
		return nil
	}
	placed := Placed{Text: plugin.Configuration(), line: config.GetToken().Position.Line, indent: -1}
	if value := child(child(config, "configuration"), "value"); value != nil {
		placed.line = value.GetToken().Position.Line
		if literal, ok := value.(*ast.LiteralNode); ok && strings.HasPrefix(literal.Start.Value, "|") {
			placed = f.block(placed, literal.Start.Position.Line)
		}
	}
	f.found = append(f.found, placed)
	return nil
}

// block places the text of a block scalar, which starts on the line after its "|". It is set in by what the file's line
// has more than the text's.
func (f *finder) block(p Placed, header int) Placed {
	first, _, _ := strings.Cut(p.Text, "\n")
	if header < len(f.lines) && strings.HasSuffix(strings.TrimSuffix(f.lines[header], "\r"), first) {
		p.line = header + 1
		p.indent = len(strings.TrimSuffix(f.lines[header], "\r")) - len(first)
	}
	return p
}

// child is the value of a mapping's key; nil if there is none.
func child(node ast.Node, key string) ast.Node {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode: // a mapping of one key
		values = []*ast.MappingValueNode{n}
	case *ast.AnchorNode:
		return child(n.Value, key)
	}
	for _, v := range values {
		if scalar(v.Key) == key {
			return v.Value
		}
	}
	return nil
}

// scalar is the text of a plain or quoted value.
func scalar(node ast.Node) string {
	if node == nil || node.GetToken() == nil {
		return ""
	}
	return node.GetToken().Value
}

// Whole is a file that is nothing but a configuration.
func Whole(file []byte) Placed { return Placed{Text: string(file), line: 1} }
