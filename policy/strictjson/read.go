package strictjson

import (
	"strings"
	"time"
)

// Field is one field that an object may have: how its value is read into a T,
// and what those who write it are told.
type Field[T any] struct {
	// Doc says what the field does. Default, which is "" if there is none, and
	// Example are values in JSON.
	Doc, Default, Example Text

	Name string
	Read func(into *T, value *Node)
	// Missing makes the field one that cannot be left out, and says what to
	// write: `write a duration, such as "window": "1m"`.
	Missing string
}

// ReadObject reads an object by the table of its fields, in the order of the
// text. A member that the table lacks is a problem that names the nearest
// field. It returns false, with a problem, if n is no object.
func ReadObject[T any](n *Node, into *T, fields []Field[T]) bool {
	if !n.Is(Object, "an object, in braces") {
		return n.shape() != nil && outlineFields(n, into, fields)
	}
	for _, member := range n.children {
		if field := findField(fields, member.name); field != nil {
			field.Read(into, member)
			continue
		}
		failUnknown(member, fields)
	}
	for i := range fields {
		n.Require(fields[i].Name, fields[i].Missing)
	}
	return true
}

// Require reports a field that an object lacks, unless the advice what to write
// is empty. [ReadObject] does so for each field of its table.
func (n *Node) Require(name, advice string) {
	if advice != "" && n.Member(name) == nil {
		n.Fail("%q is missing; %s", name, advice)
	}
}

func failUnknown[T any](member *Node, fields []Field[T]) {
	if member.document.full() {
		member.document.left++
		return
	}
	known := make([]string, 0, len(fields))
	for i := range fields {
		known = append(known, fields[i].Name)
	}
	if near, ok := Nearest(member.name, known); ok {
		member.FailName("unknown field; did you mean %q?", near)
	} else {
		member.FailName("unknown field; remove it, or write %s", quoteAll(known))
	}
}

func findField[T any](fields []Field[T], name string) *Field[T] {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// Is reports whether the value is of a kind; if not, that is a problem, and wanted
// says what to write.
func (n *Node) Is(kind Kind, wanted string) bool {
	if s := n.shape(); s != nil {
		s.Kinds = append(s.Kinds, kind)
	}
	if n.kind != kind {
		n.Fail("%s; write %s", n.is(), wanted)
	}
	return n.kind == kind
}

// IsNull reports whether the value is null, where null is allowed.
func (n *Node) IsNull() bool {
	if s := n.shape(); s != nil {
		s.Kinds = append(s.Kinds, Null)
	}
	return n.kind == Null
}

// Either reports whether the value is of a kind, where others are allowed, too.
// An outlined value is of each.
func (n *Node) Either(kind Kind) bool { return n.kind == kind || n.shape() != nil }

// is says of what kind the value is: "7 is a number", "a list stands here".
func (n *Node) is() string {
	if n.kind == Null || n.kind == Array || n.kind == Object {
		return n.kind.String() + " stands here"
	}
	return n.Show() + " is " + n.kind.String()
}

// Text returns the value of a string.
func (n *Node) Text() (string, bool) {
	return n.text, n.Is(String, "a text in double quotes")
}

// Bool returns the value of a boolean.
func (n *Node) Bool() (value, ok bool) {
	ok = n.Is(Bool, "true or false")
	return ok && n.text == "true", ok
}

// Elements returns the elements of an array; example shows how one is written.
func (n *Node) Elements(example string) []*Node {
	if n.Is(Array, "a list, such as "+example) {
		return n.children
	}
	return n.outlineElement()
}

// Members returns the values of an object with names of the writer's own;
// example shows how one is written.
func (n *Node) Members(example string) []*Node {
	if n.Is(Object, "an object, such as "+example) {
		return n.children
	}
	return n.outlineMember()
}

// Whole returns a whole number from least to most.
func (n *Node) Whole(least, most int64) (int64, bool) {
	if s := n.shape(); s != nil {
		s.Kinds = append(s.Kinds, Number)
		s.Least, s.Most = least, most
	}
	if n.kind != Number {
		n.Fail("%s; write a whole number from %d to %d, without quotes", n.is(), least, most)
		return 0, false
	}
	value, fit := wholeNumber(n.text)
	switch {
	case fit == hasFraction:
		n.Fail("%s is not whole; write a whole number from %d to %d", n.Show(), least, most)
	case fit == tooLarge || value < least || value > most:
		n.Fail("%s is out of range; write a whole number from %d to %d", n.Show(), least, most)
	default:
		return value, true
	}
	return 0, false
}

// Duration returns a duration from least to most, such as "50ms" or "1h30m".
func (n *Node) Duration(least, most time.Duration) (time.Duration, bool) {
	if s := n.shape(); s != nil {
		s.Least, s.Most, s.IsDuration = int64(least), int64(most), true
	}
	if !n.Is(String, `a duration in double quotes, such as "60s" or "1m"`) {
		return 0, false
	}
	value, err := ParseDuration(n.text)
	switch {
	case err != nil:
		n.Fail("%v", err)
	case value < least || value > most:
		n.Fail("%s is out of range; write a duration from %q to %q", n.Show(), FormatDuration(least), FormatDuration(most))
	default:
		return value, true
	}
	return 0, false
}

// OneOf returns the index of a text in the list of those allowed.
func (n *Node) OneOf(allowed ...string) (int, bool) {
	if s := n.shape(); s != nil {
		s.Values = allowed
	}
	text, ok := n.Text()
	if !ok {
		return 0, false
	}
	for i, name := range allowed {
		if name == text {
			return i, true
		}
	}
	if near, ok := Nearest(text, allowed); ok {
		n.Fail("%s is unknown; did you mean %q?", n.Show(), near)
	} else {
		n.Fail("%s is unknown; write %s", n.Show(), quoteAll(allowed))
	}
	return 0, false
}

// quoteAll lists names: "a", "b" or "c".
func quoteAll(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return `"` + names[0] + `"`
	}
	return `"` + strings.Join(names[:last], `", "`) + `" or "` + names[last] + `"`
}
