package strictjson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting, and with it every recursion over a document.
const maxDepth = 32

// Parse reads a whole text as one JSON value. A text that is not JSON gives a
// document without a root and a last problem that says why; a repeated key is a
// problem, too, but the rest is read on.
func Parse(source []byte) *Document {
	d := &Document{source: source}
	p := parser{document: d, source: source}
	root := &Node{document: d}
	if p.whole(root) {
		d.root = root
	}
	return d
}

// parser reads from source[at:]. Its methods return false after the first
// thing that is not JSON, which they have reported.
type parser struct {
	document *Document
	source   []byte
	at       int
	depth    int
}

func (p *parser) whole(root *Node) bool {
	if bytes.HasPrefix(p.source, []byte("\xef\xbb\xbf")) {
		return p.fail(root, "the text starts with a byte order mark; save it as UTF-8 without one")
	}
	if !p.value(root) {
		return false
	}
	p.blanks()
	if p.at < len(p.source) {
		return p.fail(root, "%s follows the end of the value; remove it", p.seen())
	}
	return true
}

func (p *parser) value(n *Node) bool {
	p.blanks()
	n.offset = p.at
	switch c := p.peek(); {
	case c == '{':
		return p.object(n)
	case c == '[':
		return p.array(n)
	case c == '"':
		n.kind = String
		return p.text(n, &n.text)
	case c == '-' || '0' <= c && c <= '9':
		return p.number(n)
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return p.literal(n)
	default:
		return p.fail(n, "%s stands where a value is due; write a text in double quotes, a number, true, false, null, a list or an object", p.seen())
	}
}

func (p *parser) object(n *Node) bool {
	n.kind = Object
	if closed, ok := p.open(n, '}'); closed || !ok {
		return ok
	}
	first := make(map[string]*Node)
	for {
		child := &Node{document: p.document, parent: n, nameOffset: p.at}
		if !p.member(child) {
			return false
		}
		if earlier := first[child.name]; earlier != nil {
			child.FailAgain(earlier, "the key occurs twice in its object; keep one")
		} else {
			first[child.name] = child
			n.children = append(n.children, child)
		}
		if more, ok := p.separator(n, '}'); !more {
			return ok
		}
	}
}

func (p *parser) member(n *Node) bool {
	if p.peek() != '"' {
		return p.fail(n.parent, "%s stands where a key is due; write the key in double quotes", p.seen())
	}
	if !p.text(n.parent, &n.name) {
		return false
	}
	p.blanks()
	if p.peek() != ':' {
		return p.fail(n, `%s follows the key; write ":" and a value`, p.seen())
	}
	p.at++
	return p.value(n)
}

func (p *parser) array(n *Node) bool {
	n.kind = Array
	if closed, ok := p.open(n, ']'); closed || !ok {
		return ok
	}
	for {
		child := &Node{document: p.document, parent: n, index: len(n.children)}
		if !p.value(child) {
			return false
		}
		n.children = append(n.children, child)
		if more, ok := p.separator(n, ']'); !more {
			return ok
		}
	}
}

// open goes into an object or array, and out again if it is empty.
func (p *parser) open(n *Node, closer byte) (closed, ok bool) {
	p.at++
	p.depth++
	if p.depth > maxDepth {
		return false, p.fail(n, "objects and lists are nested more than %d levels deep; nest less", maxDepth)
	}
	p.blanks()
	return p.close(closer), true
}

// separator goes over a comma, or out of the object or array.
func (p *parser) separator(n *Node, closer byte) (more, ok bool) {
	p.blanks()
	if p.close(closer) {
		return false, true
	}
	if p.peek() != ',' {
		return false, p.fail(n, `%s stands where "," or "%s" is due; write one of them`, p.seen(), string(closer))
	}
	comma := p.at
	p.at++
	p.blanks()
	if p.peek() == closer {
		p.at = comma
		return false, p.fail(n, `"," stands before "%s"; remove the comma`, string(closer))
	}
	return true, true
}

func (p *parser) close(closer byte) bool {
	if p.peek() != closer {
		return false
	}
	p.at++
	p.depth--
	return true
}

func (p *parser) blanks() {
	for p.at < len(p.source) && strings.IndexByte(" \t\r\n", p.source[p.at]) >= 0 {
		p.at++
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.source) {
		return p.source[p.at]
	}
	return 0
}

// seen names what comes next.
func (p *parser) seen() string {
	rest := p.source[p.at:]
	if len(rest) == 0 {
		return "the end of the text"
	}
	if rest[0] == '/' && len(rest) > 1 && (rest[1] == '/' || rest[1] == '*') || rest[0] == '#' {
		return "a comment, which JSON does not have,"
	}
	_, size := utf8.DecodeRune(rest)
	return quote(string(rest[:size]))
}

// fail reports a problem at the current place, in the value n, and returns false.
func (p *parser) fail(n *Node, format string, args ...any) bool {
	p.document.add(n, p.at, nil, format, args)
	return false
}
