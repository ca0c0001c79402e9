package strictjson

import (
	"sort"
	"unicode/utf8"

	"routelimit/plainfmt"
)

// maxProblems bounds how many problems of one document are kept.
const maxProblems = 100

// Document is a parsed text and what was found wrong with it so far.
type Document struct {
	source   []byte
	root     *Node
	problems []found
	left     int   // problems over maxProblems
	lines    []int // where each line begins, once a place was asked for
}

// found is a problem whose place is not yet counted out.
type found struct {
	Problem
	offset  int
	earlier *Node // nil if there is none
}

// Problem is one thing wrong with a document.
type Problem struct {
	// Path leads to the value: routes["POST /login"].limits[1].window. It is
	// empty for the document as a whole.
	Path    string
	Message string // lower case, ends with what to do
	// Line and Column count from 1, the column in characters. Both are 0 where
	// the text that was read is not what anybody wrote.
	Line, Column int
	// EarlierLine and EarlierColumn are those of what the value repeats, 0 if it
	// repeats nothing.
	EarlierLine, EarlierColumn int
}

// Error returns the problem on one line.
func (p Problem) Error() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	switch {
	case p.EarlierLine > 0:
		text += plainfmt.Sprintf(" (line %d, column %d, and line %d, column %d)", p.EarlierLine, p.EarlierColumn, p.Line, p.Column)
	case p.Line > 0:
		text += plainfmt.Sprintf(" (line %d, column %d)", p.Line, p.Column)
	}
	return text
}

// Root returns the document's value, or nil if the text is not JSON; then
// Problems has the reason.
func (d *Document) Root() *Node { return d.root }

// Count returns how many problems were found so far, those over a hundred too.
func (d *Document) Count() int { return len(d.problems) + d.left }

// Problems returns what was found wrong so far, in the order of the text. Of
// more than a hundred, the last names how many are left out.
func (d *Document) Problems() []Problem {
	sort.SliceStable(d.problems, func(i, j int) bool { return d.problems[i].offset < d.problems[j].offset })
	var all []Problem
	for _, f := range d.problems {
		f.Line, f.Column = d.place(f.offset)
		if f.earlier != nil {
			f.EarlierLine, f.EarlierColumn = f.earlier.NamePlace()
		}
		all = append(all, f.Problem)
	}
	if d.left > 0 {
		all = append(all, Problem{Message: plainfmt.Sprintf("%d more problems are not shown; repair these first", d.left)})
	}
	return all
}

// add keeps a problem at an offset; earlier is what n repeats, or nil.
func (d *Document) add(n *Node, offset int, earlier *Node, format string, args []any) {
	if d.full() || n.shape() != nil {
		d.left++
		return
	}
	problem := Problem{Path: n.Path(), Message: plainfmt.Sprintf(format, args...)}
	d.problems = append(d.problems, found{problem, offset, earlier})
}

func (d *Document) full() bool { return len(d.problems) == maxProblems }

// place counts lines and columns up to an offset.
func (d *Document) place(offset int) (line, column int) {
	if d.lines == nil {
		d.lines = []int{0}
		for i, c := range d.source {
			if c == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	line = sort.SearchInts(d.lines, offset+1)
	return line, utf8.RuneCount(d.source[d.lines[line-1]:offset]) + 1
}
