package strictjson

import (
	"strings"
	"time"
)

// Field is one field that an object may have: how its value is read into a T.
type Field[T any] struct {
	Name string
	Read func(into *T, value *Node)
}

// ReadObject reads an object by the table of its fields, in the order of the
// text. A member that the table lacks is a problem that names the nearest
// field. It returns false, with a problem, if n is no object.
func ReadObject[T any](n *Node, into *T, fields []Field[T]) bool {
	if !n.is(Object, "{ }") {
		return false
	}
	for _, member := range n.children {
		if field := findField(fields, member.name); field != nil {
			field.Read(into, member)
			continue
		}
		failUnknown(member, fields)
	}
	return true
}

func failUnknown[T any](member *Node, fields []Field[T]) {
	if member.document.full() {
		member.document.left++
		return
	}
	known := make([]string, len(fields))
	for i, field := range fields {
		known[i] = field.Name
	}
	if near, ok := Nearest(member.name, known); ok {
		member.FailName("unknown field; did you mean %q?", near)
	} else {
		member.FailName("unknown field; remove it, or write one of %s", quoteAll(known))
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

// is reports a problem unless the value is of a kind; example shows how one is written.
func (n *Node) is(kind Kind, example string) bool {
	if n.kind != kind {
		n.Fail("%s is %s; write %s, such as %s", n.Show(), n.kind, kind, example)
	}
	return n.kind == kind
}

// Text returns the value of a string.
func (n *Node) Text() (string, bool) {
	if n.kind != String {
		n.Fail("%s is %s; write a text in double quotes", n.Show(), n.kind)
	}
	return n.text, n.kind == String
}

// Bool returns the value of a boolean.
func (n *Node) Bool() (value, ok bool) {
	if n.kind != Bool {
		n.Fail("%s is %s; write true or false", n.Show(), n.kind)
	}
	return n.text == "true", n.kind == Bool
}

// Elements returns the elements of an array; example shows how one is written.
func (n *Node) Elements(example string) ([]*Node, bool) {
	return n.children, n.is(Array, example)
}

// Whole returns a whole number from least to most.
func (n *Node) Whole(least, most int64) (int64, bool) {
	if n.kind != Number {
		n.Fail("%s is %s; write a whole number from %d to %d, without quotes", n.Show(), n.kind, least, most)
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
	if n.kind != String {
		n.Fail(`%s is %s; write a duration in double quotes, such as "60s" or "1m"`, n.Show(), n.kind)
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
		n.Fail("%s is unknown; write one of %s", n.Show(), quoteAll(allowed))
	}
	return 0, false
}

func quoteAll(names []string) string {
	return `"` + strings.Join(names, `", "`) + `"`
}
