package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// edge is a call of one function from a line of another.
type edge struct {
	caller, callee string
	file           string
	begins, line   int // in the file: where the caller begins, where it calls
	calls          int
}

var (
	begin = regexp.MustCompile(`\((\S+):(\d+)\)\tTEXT\t(.+?)\(SB\)`)
	call  = regexp.MustCompile(`\((\S+):(\d+)\)\tCall\t(.+?)\(SB\)`)
)

// join finds in the compiler's listing who called whom of the functions that were counted. Calls that were inlined into
// their caller from another place count for nothing: the compiler asks for the line in the caller itself.
func join(listing []byte, counts map[string]int) []edge {
	found := map[edge]bool{}
	var edges []edge
	var current edge
	for line := range bytes.Lines(listing) {
		if m := begin.FindSubmatch(line); m != nil {
			current = edge{caller: string(m[3]), file: string(m[1]), begins: number(m[2])}
			continue
		}
		m := call.FindSubmatch(line)
		if m == nil || string(m[1]) != current.file || number(m[2]) < current.begins {
			continue
		}
		e := current
		e.line, e.callee = number(m[2]), string(m[3])
		e.calls = min(counts[inNames(e.caller)], counts[inNames(e.callee)])
		if e.calls > 0 && !found[e] {
			found[e] = true
			edges = append(edges, e)
		}
	}
	return edges
}

func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits)) // the expression admits nothing else
	return n
}

// inNames is a symbol as it stands in a module's section of names.
func inNames(symbol string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			return c
		}
		return '_'
	}, symbol)
}
