package strictjson

import "strings"

func (p *parser) literal(n *Node) bool {
	word := p.word()
	switch word {
	case "null":
		n.kind = Null
	case "true", "false":
		n.kind = Bool
	default:
		return p.fail(n, "%s is no JSON value; write a text in double quotes", quote(word))
	}
	n.text = word
	p.at += len(word)
	return true
}

// number follows RFC 8259, section 6.
func (p *parser) number(n *Node) bool {
	n.kind = Number
	rest := p.source[p.at:]
	end := 0
	for end < len(rest) && strings.IndexByte("+-.0123456789eE", rest[end]) >= 0 {
		end++
	}
	n.text = string(rest[:end])
	if !isNumber(n.text) {
		return p.fail(n, "%s is no JSON number; write one such as 10 or 0.5", quote(n.text))
	}
	p.at += end
	return true
}

func (p *parser) word() string {
	end := p.at
	for end < len(p.source) && ('a' <= p.source[end] && p.source[end] <= 'z' || 'A' <= p.source[end] && p.source[end] <= 'Z') {
		end++
	}
	return string(p.source[p.at:end])
}
