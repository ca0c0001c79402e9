package strictjson

import (
	"strconv"
	"strings"
)

// Kind is the type of a JSON value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a text", "a list", "an object", "no value"}

// String returns the kind with its article: "a number".
func (k Kind) String() string { return kindNames[k] }

// Node is one value of a document.
type Node struct {
	outline
	document *Document
	parent   *Node
	kind     Kind
	offset   int // of the value
	text     string
	children []*Node

	name       string // of a member of an object
	nameOffset int
	index      int // of an element of an array
}

// Kind returns the value's type.
func (n *Node) Kind() Kind { return n.kind }

// Name returns the key under which the value stands in its object.
func (n *Node) Name() string { return n.name }

// Children returns the elements of an array, or the values of an object's
// members in the order of the text; of a key that occurs twice the first.
func (n *Node) Children() []*Node { return n.children }

// Member returns the value under a key of an object, or nil.
func (n *Node) Member(name string) *Node {
	if n.kind != Object {
		return nil
	}
	for _, child := range n.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// Place returns the line and the column, from 1, where the value begins.
func (n *Node) Place() (line, column int) { return n.document.place(n.offset) }

// NamePlace returns the line and the column of the key before the value.
func (n *Node) NamePlace() (line, column int) { return n.document.place(n.nameOffset) }

// ShowName returns the key as a message quotes it.
func (n *Node) ShowName() string { return quote(n.name) }

// Fail reports a problem with the value; the message follows plainfmt.Sprintf.
func (n *Node) Fail(format string, args ...any) {
	n.document.add(n, n.offset, nil, format, args)
}

// FailName reports a problem with the key under which the value stands.
func (n *Node) FailName(format string, args ...any) {
	n.document.add(n, n.nameOffset, nil, format, args)
}

// FailAgain reports that the key means the same as an earlier one.
func (n *Node) FailAgain(earlier *Node, format string, args ...any) {
	n.document.add(n, n.nameOffset, earlier, format, args)
}

// Path returns how to reach the value from the root:
// routes["POST /login"].limits[1].window.
func (n *Node) Path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.Path()
	switch {
	case n.parent.kind == Array:
		return above + "[" + strconv.Itoa(n.index) + "]"
	case !isPlainName(n.name):
		return above + "[" + quote(n.name) + "]"
	case above == "":
		return n.name
	default:
		return above + "." + n.name
	}
}

// Show returns the value as a message quotes it, cut to a readable length.
func (n *Node) Show() string {
	switch n.kind {
	case String:
		return quote(n.text)
	case Array:
		return "[…]"
	case Object:
		return "{…}"
	default:
		return cut(n.text)
	}
}

// quote puts a text in double quotes, escapes what cannot be seen and cuts it
// to a readable length.
func quote(text string) string {
	short := cut(text)
	if short == text {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.TrimSuffix(short, "…")) + "…"
}

func cut(text string) string {
	const longest = 60
	runes := 0
	for i := range text {
		if runes == longest {
			return text[:i] + "…"
		}
		runes++
	}
	return text
}

func isPlainName(name string) bool {
	if name == "" || len(name) > 60 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
