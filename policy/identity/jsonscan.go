package identity

import (
	"unicode/utf16"
	"unicode/utf8"
)

// jsonScanner reads the smallest parts of a JSON text (RFC 8259, sections 2,
// 3, 6 and 7). Each scan function reports whether the part is well formed and
// leaves at behind it.
type jsonScanner struct {
	text []byte
	at   int
}

// peek gives the current byte, 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *jsonScanner) skipBlanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *jsonScanner) scanWord(word string) bool {
	if len(s.text)-s.at < len(word) || string(s.text[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

func (s *jsonScanner) scanString() bool {
	if s.peek() != '"' {
		return false
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			s.at++
			if !s.checkEscape() {
				return false
			}
		}
	}
	return false
}

// checkEscape looks at what follows a backslash and stays on its last byte.
func (s *jsonScanner) checkEscape() bool {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if _, ok := hex4(s.text[s.at+1:]); !ok {
			return false
		}
		s.at += 4
		return true
	}
	return false
}

func (s *jsonScanner) scanNumber() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.scanDigits() {
		return false
	}
	if s.peek() == '.' {
		s.at++
		if !s.scanDigits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.scanDigits()
	}
	return true
}

func (s *jsonScanner) scanDigits() bool {
	start := s.at
	for '0' <= s.peek() && s.peek() <= '9' {
		s.at++
	}
	return s.at > start
}

// appendUnescaped appends what the inside of a valid JSON string stands for.
// That is never longer than raw, and no byte of it is written before the
// bytes that it stands for were read, so dst may lie in raw's own memory.
// Half of a surrogate pair becomes U+FFFD; bytes that are not UTF-8 stay.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			first, _ := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(first) {
				pair := rune(utf8.RuneError)
				if rest := raw[i+1:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
					second, _ := hex4(rest[2:])
					pair = utf16.DecodeRune(first, second)
				}
				if pair != utf8.RuneError {
					i += 6
				}
				first = pair
			}
			dst = utf8.AppendRune(dst, first)
		default: // quote, backslash, slash
			dst = append(dst, c)
		}
	}
	return dst
}

// hex4 reads the four hexadecimal digits of \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		if !isHex(c) {
			return 0, false
		}
		r = r<<4 | rune(unhex(c))
	}
	return r, true
}
