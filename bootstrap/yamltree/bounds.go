package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// The parser needs memory by the square of the depth, and aliases of aliases make a short file a huge one, so that both
// are bounded before anything is read from a file.
const (
	mostDeep    = 500     // collections in one another
	mostAliased = 1 << 20 // values of a file with its aliases resolved
	mostMerged  = 1 << 17 // members that "<<" brings in, before those that stand there already are left out
)

// checkDepth refuses collections that are nested too deep: in brackets, or begun in one line. What is nested by indentation
// alone is bounded by the file, whose size grows by the square.
func checkDepth(tokens token.Tokens) error {
	deep, begun, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			begun, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			deep++
		case token.SequenceEndType, token.MappingEndType:
			deep--
		case token.SequenceEntryType, token.MappingKeyType:
			begun++
		}
		if deep > mostDeep || begun > mostDeep {
			return &SyntaxError{line, t.Position.Column, fmt.Sprintf("values are nested more than %d deep here", mostDeep)}
		}
	}
	return nil
}

// CheckAliases refuses documents that have too many values once their aliases are resolved. The error is a *SyntaxError.
func CheckAliases(documents []*Node) error {
	sizes := map[*Node]int{}
	for _, d := range documents {
		if size(d, sizes) > mostAliased {
			return &SyntaxError{d.Line, d.Column, fmt.Sprintf("with its aliases (*) resolved it has more than %d values", mostAliased)}
		}
	}
	return nil
}

// size counts values, no further than just above mostAliased.
func size(n *Node, sizes map[*Node]int) int {
	if n == nil {
		return 0
	}
	if known, ok := sizes[n]; ok {
		return known
	}
	sum := 1
	for _, f := range n.fields {
		sum = min(sum+size(f.Value, sizes), mostAliased+1)
	}
	for _, item := range n.items {
		sum = min(sum+size(item, sizes), mostAliased+1)
	}
	sizes[n] = sum
	return sum
}
