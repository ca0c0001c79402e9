package policytest

import (
	"fmt"
	"strings"
	"time"

	"routelimit/bootstrap/yamltree"
	"routelimit/policy/strictjson"
)

// reader reads a file and collects what is wrong in it.
type reader struct {
	problems Problems
	callers  map[string]Request
}

const mostProblems = 20

func (r *reader) fail(line, column int, format string, args ...any) {
	if len(r.problems) < mostProblems {
		r.problems = append(r.problems, Problem{max(1, line), max(1, column), fmt.Sprintf(format, args...)})
	}
}

func (r *reader) failAt(n *yamltree.Node, format string, args ...any) {
	r.fail(n.Line, n.Column, format, args...)
}

// field is one that a mapping may have.
type field struct {
	name string
	read func(*yamltree.Node)
}

// mapping reads a mapping by the table of its fields, in the order of the file.
func (r *reader) mapping(n *yamltree.Node, what string, fields []field) bool {
	if !n.IsMapping() {
		r.failAt(n, "%s is a mapping; write fields, such as %s: …", what, fields[0].name)
		return false
	}
	for _, member := range r.members(n) {
		known := false
		for _, f := range fields {
			if f.name == member.Name {
				known = true
				f.read(member.Value)
			}
		}
		if !known {
			r.unknown(member, fields)
		}
	}
	return true
}

// members are those of a mapping; one that is repeated is a problem.
func (r *reader) members(n *yamltree.Node) []yamltree.Field {
	seen := map[string]bool{}
	for _, member := range n.Fields() {
		if seen[member.Name] {
			r.fail(member.Line, member.Column, "%q stands here twice; remove one", member.Name)
		}
		seen[member.Name] = true
	}
	return n.Fields()
}

func (r *reader) unknown(member yamltree.Field, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if near, ok := strictjson.Nearest(member.Name, names); ok {
		r.fail(member.Line, member.Column, "unknown field %q; did you mean %q?", member.Name, near)
		return
	}
	r.fail(member.Line, member.Column, "unknown field %q; remove it, or write one of %s", member.Name, strings.Join(names, ", "))
}

// text is a scalar.
func (r *reader) text(n *yamltree.Node, what string) string {
	if n.IsMapping() || n.IsList() || n.IsNull() {
		r.failAt(n, "%s is missing or no text; write one value", what)
		return ""
	}
	return n.Text()
}

// words are names and values, several of one name where a list stands.
func (r *reader) lines(n *yamltree.Node, what string) []Line {
	if !n.IsMapping() {
		r.failAt(n, "%s are names and values; write them as name: value", what)
		return nil
	}
	var lines []Line
	for _, member := range r.members(n) {
		values := []*yamltree.Node{member.Value}
		if member.Value.IsList() {
			values = member.Value.Items()
		}
		for _, value := range values {
			lines = append(lines, Line{member.Name, r.text(value, member.Name)})
		}
	}
	return lines
}

// duration is one such as 5m or 1h30m.
func (r *reader) duration(n *yamltree.Node, what string) time.Duration {
	text := n.Text()
	if text == "0" {
		return 0
	}
	d, err := strictjson.ParseDuration(text)
	switch {
	case err != nil:
		r.failAt(n, "%s: %v", what, err)
	case d > mostTime:
		r.failAt(n, "%s %s is out of range; write at most 1000d", what, text)
		return 0
	}
	return d
}

const mostTime = 1000 * 24 * time.Hour

// whole is a whole number in a range.
func (r *reader) whole(n *yamltree.Node, what string, least, most int64) int64 {
	number, ok := n.Number()
	if !ok || number < least || number > most {
		r.failAt(n, "%s %q is no whole number from %d to %d; write one", what, n.Text(), least, most)
		return least
	}
	return number
}

// oneOf is one of some words.
func (r *reader) oneOf(n *yamltree.Node, what string, words []string) string {
	text := n.Text()
	for _, word := range words {
		if text == word {
			return text
		}
	}
	if near, ok := strictjson.Nearest(text, words); ok {
		r.failAt(n, "%s %q is unknown; did you mean %q?", what, text, near)
	} else {
		r.failAt(n, "%s %q is unknown; write one of %s", what, text, strings.Join(words, ", "))
	}
	return ""
}
