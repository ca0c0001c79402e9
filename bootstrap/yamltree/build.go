package yamltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// builder turns one document's syntax into values.
type builder struct {
	anchors map[string]*Node
	merged  int   // members that "<<" has brought in
	tooMany error // of them; a *SyntaxError
}

func (b *builder) build(syntax ast.Node) *Node {
	n := &Node{}
	if token := syntax.GetToken(); token != nil {
		n.Line, n.Column = token.Position.Line, token.Position.Column
	}
	switch s := syntax.(type) {
	case *ast.MappingNode:
		return b.mapping(n, s.Values)
	case *ast.MappingValueNode: // a mapping of one key
		return b.mapping(n, []*ast.MappingValueNode{s})
	case *ast.SequenceNode:
		n.isList = true
		for _, item := range s.Values {
			n.items = append(n.items, b.build(item))
		}
	case *ast.AnchorNode:
		value := b.build(s.Value)
		b.anchors[name(s.Name)] = value
		return value
	case *ast.AliasNode:
		if value := b.anchors[name(s.Value)]; value != nil {
			return value
		}
	case *ast.TagNode:
		value := b.build(s.Value)
		if s.Start.Value == "!!str" && value.scalar != nil {
			value.scalar = name(s.Value) // as it is written
		}
		return value
	case *ast.LiteralNode:
		n.scalar = s.Value.Value
		if strings.HasPrefix(s.Start.Value, "|") {
			n.Block = s.Start.Position.Line
		}
	case ast.ScalarNode:
		n.scalar = s.GetValue()
	}
	return n
}

// mapping reads the members of a mapping. It stands where its first key does.
func (b *builder) mapping(n *Node, values []*ast.MappingValueNode) *Node {
	n.isMap = true
	if len(values) > 0 {
		if token := values[0].Key.GetToken(); token != nil {
			n.Line, n.Column = token.Position.Line, token.Position.Column
		}
	}
	var merged []Field
	for _, v := range values {
		value := b.build(v.Value)
		if v.Key.IsMergeKey() {
			merged = append(merged, b.mergeable(n, value)...)
			continue
		}
		f := Field{Name: name(v.Key), Value: value}
		if token := v.Key.GetToken(); token != nil {
			f.Line, f.Column = token.Position.Line, token.Position.Column
		}
		n.fields = append(n.fields, f)
	}
	if len(merged) == 0 {
		return n
	}
	there := map[string]bool{}
	for _, f := range n.fields {
		there[f.Name] = true
	}
	for _, f := range merged {
		if !there[f.Name] && !there[camelCase(f.Name)] {
			n.fields, there[f.Name] = append(n.fields, f), true
		}
	}
	return n
}

// mergeable are the members that "<<" brings in: those of a mapping, or of each
// in a list.
func (b *builder) mergeable(at, n *Node) []Field {
	b.merged += len(n.fields)
	for _, item := range n.items {
		b.merged += len(item.fields)
	}
	if b.merged > mostMerged {
		b.tooMany = &SyntaxError{at.Line, at.Column, fmt.Sprintf(`"<<" brings in more than %d members`, mostMerged)}
		return nil
	}
	fields := slices.Clone(n.fields)
	for _, item := range n.items {
		fields = append(fields, item.fields...)
	}
	return fields
}

func name(syntax ast.Node) string {
	if syntax == nil || syntax.GetToken() == nil {
		return ""
	}
	return syntax.GetToken().Value
}
