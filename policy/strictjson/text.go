package strictjson

import (
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string literal (RFC 8259, section 7) that belongs to n.
func (p *parser) text(n *Node, into *string) bool {
	p.at++
	var decoded []byte
	for {
		start := p.at
		for p.at < len(p.source) && isPlainText(p.source[p.at]) {
			p.at++
		}
		decoded = append(decoded, p.source[start:p.at]...)
		switch c := p.peek(); {
		case p.at == len(p.source):
			return p.fail(n, `the text ends inside a string; close it with a double quote`)
		case c == '"':
			p.at++
			*into = string(decoded)
			return true
		case c == '\\':
			var ok bool
			if decoded, ok = p.escape(n, decoded); !ok {
				return false
			}
		case c < ' ':
			return p.fail(n, `a control character (0x%s) stands in a string; write it as \u00%s`, hexDigits(c), hexDigits(c))
		default:
			r, size := utf8.DecodeRune(p.source[p.at:])
			if r == utf8.RuneError && size == 1 {
				return p.fail(n, "byte 0x%s is not UTF-8; save the text as UTF-8", hexDigits(c))
			}
			decoded = append(decoded, p.source[p.at:p.at+size]...)
			p.at += size
		}
	}
}

func isPlainText(c byte) bool { return ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' }

// escape reads one escape, with both halves of a surrogate pair.
func (p *parser) escape(n *Node, decoded []byte) ([]byte, bool) {
	r, size := p.escaped(p.at)
	if size == 0 {
		return nil, p.fail(n, `this is no escape of JSON; write \\ for a backslash`)
	}
	if utf16.IsSurrogate(r) {
		low, lowSize := p.escaped(p.at + size)
		r = utf16.DecodeRune(r, low)
		if r == utf8.RuneError {
			return nil, p.fail(n, `half of a surrogate pair stands alone; write the character itself`)
		}
		size += lowSize
	}
	p.at += size
	return utf8.AppendRune(decoded, r), true
}

// escaped decodes the escape at an offset; its size is 0 if there is none.
func (p *parser) escaped(at int) (r rune, size int) {
	rest := p.source[min(at, len(p.source)):]
	if len(rest) < 2 || rest[0] != '\\' {
		return 0, 0
	}
	switch c := rest[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(rest) < 6 {
			return 0, 0
		}
		return hexRune(rest[2:6])
	}
	return 0, 0
}

// hexRune decodes the four digits of a \u escape of 6 bytes.
func hexRune(digits []byte) (r rune, size int) {
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, 0
		}
	}
	return r, 6
}

// hexDigits are the two digits of a byte.
func hexDigits(c byte) string { return hex.EncodeToString([]byte{c}) }
