// Package yamltree reads YAML (and JSON) into values that know their place in
// the file, for messages that name the line. Aliases and merge keys are
// resolved. All methods take a nil Node, for a value that is not there.
package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Node is one value.
type Node struct {
	Line, Column int // from 1
	// Block is the line with the "|" before a text that stands in the file line
	// for line, 0 for all other values.
	Block int

	fields []Field
	items  []*Node
	scalar any // nil, bool, int64, uint64, float64 or string
	isMap  bool
	isList bool
}

// Field is a member of a mapping.
type Field struct {
	Name         string
	Value        *Node
	Line, Column int // of its name, from 1
}

// SyntaxError says where a file is not YAML.
type SyntaxError struct {
	Line, Column int // from 1
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not YAML: %s; correct it (line %d, column %d)", e.Reason, e.Line, e.Column)
}

// Explain makes one sentence of the parser's error, which otherwise shows the
// lines around it.
func Explain(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		position := at.GetToken().Position
		return &SyntaxError{Line: position.Line, Column: position.Column, Reason: at.GetMessage()}
	}
	return &SyntaxError{Line: 1, Column: 1, Reason: err.Error()}
}

// CheckStart refuses a byte order mark, which the YAML reader would take for a part
// of the first key.
func CheckStart(file []byte) error {
	if bytes.HasPrefix(file, []byte("\xef\xbb\xbf")) {
		return &SyntaxError{Line: 1, Column: 1, Reason: "it starts with a byte order mark; save it as UTF-8 without one"}
	}
	return nil
}

// Parse returns the documents of a file. The error is a *SyntaxError.
func Parse(file []byte) ([]*Node, error) {
	if err := CheckStart(file); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(file))
	if err := checkDepth(tokens); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, Explain(err)
	}
	var documents []*Node
	for _, document := range parsed.Docs {
		if document.Body != nil {
			b := builder{anchors: map[string]*Node{}}
			documents = append(documents, b.build(document.Body))
			if b.tooMany != nil {
				return nil, b.tooMany
			}
		}
	}
	return documents, nil
}

// At follows names down nested mappings. A name also finds its lowerCamelCase
// form, which Envoy takes as well.
func (n *Node) At(names ...string) *Node {
	for _, name := range names {
		n = n.field(name)
	}
	return n
}

func (n *Node) field(name string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.Name == name || f.Name == camelCase(name) {
			return f.Value
		}
	}
	return nil
}

func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// Fields are the members of a mapping, in order.
func (n *Node) Fields() []Field {
	if n == nil {
		return nil
	}
	return n.fields
}

// Items are the elements of a list.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.items
}

// IsMapping reports whether the value is a mapping.
func (n *Node) IsMapping() bool { return n != nil && n.isMap }

// IsList reports whether the value is a list.
func (n *Node) IsList() bool { return n != nil && n.isList }

// IsNull reports whether there is no value, or null.
func (n *Node) IsNull() bool { return n == nil || !n.isMap && !n.isList && n.scalar == nil }

// Text is a scalar as text; "" for all else.
func (n *Node) Text() string {
	if n == nil || n.scalar == nil {
		return ""
	}
	return fmt.Sprint(n.scalar)
}

// True reports whether the value is true.
func (n *Node) True() bool { return n.Text() == "true" }

// Number is a whole number from 0 on, which may stand in quotes; false for all
// else.
func (n *Node) Number() (int64, bool) {
	number, err := strconv.ParseInt(n.Text(), 10, 64)
	return number, err == nil && number >= 0
}

// mostValues bounds what Value returns, since aliases of aliases can make a
// short file a huge value.
const mostValues = 1 << 17

// Value is the whole value as encoding/json knows it. What is beyond mostValues
// values is nil.
func (n *Node) Value() any {
	left := mostValues
	return n.value(&left)
}

func (n *Node) value(left *int) any {
	if n == nil || *left == 0 {
		return nil
	}
	*left--
	switch {
	case n.isMap:
		fields := map[string]any{}
		for _, f := range n.fields {
			fields[f.Name] = f.Value.value(left)
		}
		return fields
	case n.isList:
		items := []any{}
		for _, item := range n.items {
			if *left > 0 {
				items = append(items, item.value(left))
			}
		}
		return items
	}
	return n.scalar
}

// Walk calls visit for every mapping, outer ones first, each once.
func (n *Node) Walk(visit func(*Node)) { n.walk(visit, map[*Node]bool{}) }

func (n *Node) walk(visit func(*Node), seen map[*Node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	if n.isMap {
		visit(n)
	}
	for _, f := range n.fields {
		f.Value.walk(visit, seen)
	}
	for _, item := range n.items {
		item.walk(visit, seen)
	}
}
