package bootstrap

import (
	"bytes"
	"encoding/json"
	"strings"

	"routelimit/bootstrap/yamltree"
)

// Placed is a plugin configuration together with where it stands in the file.
type Placed struct {
	Text string // as the module gets it
	line int    // of the file: where Text's first line stands, or the setting that holds Text
	// indent is by how many columns Text is set in, or -1 where its lines are not those of the file: it is quoted, folded
	// or no text but YAML.
	indent int
	// linesOnly says that Text has the file's lines and not its columns, as JSON that was made of YAML.
	linesOnly bool
}

// Line is where the configuration starts in the file, from 1.
func (p Placed) Line() int { return p.line }

// Place turns a line and column of Text into those of the file, all from 1. It says no where the column is
// not known; then the line is as near as one can get.
func (p Placed) Place(line, column int) (fileLine, fileColumn int, exact bool) {
	if p.linesOnly {
		return p.line + line - 1, 1, false
	}
	if p.indent < 0 {
		return p.line, 1, false
	}
	return p.line + line - 1, column + p.indent, true
}

// IsObject tells JSON, such as a policy by itself, from YAML. A byte order mark before it is the policy's reader's to refuse.
func IsObject(file []byte) bool {
	file = bytes.TrimPrefix(bytes.TrimSpace(file), []byte("\xef\xbb\xbf"))
	return bytes.HasPrefix(bytes.TrimSpace(file), []byte("{"))
}

// Policies finds every policy in a YAML file: the configurations of the plugins that Plugins would find and that are not
// the gateway's. The file may hold several documents.
func Policies(file []byte) ([]Placed, error) {
	documents, err := yamltree.Parse(file)
	if err != nil {
		return nil, err
	}
	var found []Placed
	for _, document := range documents {
		document.Walk(func(typed *yamltree.Node) {
			if p, ok := PlacePlugin(file, typed); ok && !p.Gateway() {
				found = append(found, p)
			}
		})
	}
	return found, nil
}

// PlacePlugin returns the plugin configuration in a filter's typed_config, if the filter is routelimit.
func PlacePlugin(file []byte, typed *yamltree.Node) (Placed, bool) {
	config := typed.At("config")
	if config == nil || !strings.HasSuffix(typed.At("@type").Text(), "/"+wasmFilter) {
		return Placed{}, false
	}
	m, _ := config.Value().(map[string]any)
	if !ours(m) {
		return Placed{}, false
	}
	placed := Placed{Text: Plugin{m}.Configuration(), line: config.Line, indent: -1}
	if value := config.At("configuration", "value"); value != nil {
		placed.line = value.Line
		if value.Block > 0 {
			placed = placeBlock(placed, value.Block, file)
		}
	}
	return placed, true
}

// placeBlock places the text of a block scalar, which starts on the line after its "|". It is set in by what the file's
// line has more than the text's.
func placeBlock(p Placed, header int, file []byte) Placed {
	lines := strings.SplitN(string(file), "\n", header+2)
	first, _, _ := strings.Cut(p.Text, "\n")
	if header >= len(lines) {
		return p
	}
	line := strings.TrimSuffix(lines[header], "\r")
	if strings.HasSuffix(line, first) {
		p.line = header + 1
		p.indent = len(line) - len(first)
	}
	return p
}

// Gateway says that it is the link's gateway, which holds no policy.
func (p Placed) Gateway() bool {
	var c struct{ Role string }
	return json.Unmarshal([]byte(p.Text), &c) == nil && c.Role == "gateway"
}

// Whole is a file that is nothing but a configuration.
func Whole(file []byte) Placed { return Placed{Text: string(file), line: 1} }
