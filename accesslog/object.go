package accesslog

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a line of JSON.
const maxDepth = 32

// object reads one line of JSON (RFC 8259) and picks out what stands at some
// paths of keys. A text gives its value, a number and a truth value are given as they
// are written, null and everything else nothing.
type object struct {
	text  string
	at    int
	paths [][]string
	// values are parallel to paths. Of a key that occurs twice the first counts.
	values []string
	seen   []bool
}

// scan reads the whole line; it is false if that is not one JSON object.
func (o *object) scan() bool {
	all := uint64(1)<<len(o.paths) - 1
	if !o.blanks('{') || !o.members(0, all) {
		return false
	}
	o.skipBlanks()
	return o.at == len(o.text)
}

// members reads an object behind its brace. open are the paths that lead here.
func (o *object) members(depth int, open uint64) bool {
	if depth == maxDepth {
		return false
	}
	if o.blanks('}') {
		return true
	}
	for {
		o.skipBlanks()
		key, ok := o.stringValue()
		if !ok || !o.blanks(':') {
			return false
		}
		var inside, ends uint64
		for i, path := range o.paths {
			switch {
			case open&(1<<i) == 0 || path[depth] != key:
			case len(path) > depth+1:
				inside |= 1 << i
			default:
				ends |= 1 << i
			}
		}
		if !o.member(depth, inside, ends) {
			return false
		}
		if !o.blanks(',') {
			return o.blanks('}')
		}
	}
}

// member reads a value, at which some paths end and inside which others go on.
func (o *object) member(depth int, inside, ends uint64) bool {
	o.skipBlanks()
	if o.at == len(o.text) {
		return false
	}
	switch o.text[o.at] {
	case '{':
		o.at++
		return o.members(depth+1, inside)
	case '[':
		o.at++
		return o.list(depth + 1)
	}
	value, ok := o.scalar()
	for ok && ends != 0 {
		i := bits.TrailingZeros64(ends)
		ends &= ends - 1
		if !o.seen[i] {
			o.values[i], o.seen[i] = value, true
		}
	}
	return ok
}

func (o *object) list(depth int) bool {
	if depth >= maxDepth {
		return false
	}
	if o.blanks(']') {
		return true
	}
	for {
		if !o.member(depth, 0, 0) {
			return false
		}
		if !o.blanks(',') {
			return o.blanks(']')
		}
	}
}

func (o *object) scalar() (string, bool) {
	if o.text[o.at] == '"' {
		return o.stringValue()
	}
	start := o.at
	for o.at < len(o.text) && strings.IndexByte(",}] \t", o.text[o.at]) < 0 {
		o.at++
	}
	switch word := o.text[start:o.at]; word {
	case "null":
		return "", true
	case "true", "false":
		return word, true
	default:
		return word, isNumber(word)
	}
}

// isNumber follows RFC 8259, section 6.
func isNumber(word string) bool {
	word = strings.TrimPrefix(word, "-")
	whole, rest := leadingDigits(word)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		var fraction string
		if fraction, rest = leadingDigits(after); fraction == "" {
			return false
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	exponent, rest := leadingDigits(rest)
	return exponent != "" && rest == ""
}

func leadingDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}

// stringValue reads a string in quotes.
func (o *object) stringValue() (string, bool) {
	if o.at == len(o.text) || o.text[o.at] != '"' {
		return "", false
	}
	start := o.at + 1
	escaped := false
	for i := start; i < len(o.text); i++ {
		switch c := o.text[i]; {
		case c == '"':
			o.at = i + 1
			if !escaped {
				return o.text[start:i], true
			}
			return unquote(o.text[start:i])
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

func unquote(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++ // a backslash is never last
		switch c := s[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, "\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case 'u':
			r, ok := unit(s, i+1)
			if !ok {
				return "", false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, ok := rune(utf8.RuneError), false
				if strings.HasPrefix(s[i+1:], `\u`) {
					low, ok = unit(s, i+3)
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return "", false
		}
	}
	return string(out), true
}

// unit reads the four digits of \uXXXX.
func unit(s string, at int) (rune, bool) {
	if at+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[at:at+4], 16, 16)
	return rune(n), err == nil
}

// blanks skips blanks and takes c, if it comes.
func (o *object) blanks(c byte) bool {
	o.skipBlanks()
	if o.at == len(o.text) || o.text[o.at] != c {
		return false
	}
	o.at++
	return true
}

func (o *object) skipBlanks() {
	for o.at < len(o.text) && (o.text[o.at] == ' ' || o.text[o.at] == '\t') {
		o.at++
	}
}
