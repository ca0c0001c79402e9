package accesslog

import "strings"

// maxWords bounds the words of a line of text.
const maxWords = 128

// The kinds of words: "[…]", "\"…\"" and all others.
const (
	bracketed = 't'
	quoted    = 'q'
	bare      = 'b'
)

// splitWords cuts a line at its blanks, but not within brackets or quotes, which
// end only before a blank or the line's end. kinds has one letter for each word.
// With escapes a backslash in quotes takes the next character along. It is false
// if something is left open or there are too many words.
func splitWords(line string, escapes bool, words []string, kinds []byte) ([]string, []byte, bool) {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return words, kinds, true
		}
		if len(words) == maxWords {
			return words, kinds, false
		}
		kind, word, after := byte(bare), "", 0
		switch line[0] {
		case '[':
			kind, after = bracketed, endOf(line, ']', false)
		case '"':
			kind, after = quoted, endOf(line, '"', escapes)
		default:
			if after = strings.IndexByte(line, ' '); after < 0 {
				after = len(line)
			}
			word = line[:after]
		}
		if after < 0 {
			return words, kinds, false
		}
		if kind != bare {
			word = line[1 : after-1]
		}
		words, kinds = append(words, word), append(kinds, kind)
		line = line[after:]
	}
}

// endOf is where the word that begins with a quote or bracket ends, behind the
// closing one; -1 if it does not.
func endOf(line string, closing byte, escapes bool) int {
	for i := 1; i < len(line); i++ {
		switch {
		case escapes && line[i] == '\\':
			i++
		case line[i] == closing && (i+1 == len(line) || line[i+1] == ' '):
			return i + 1
		}
	}
	return -1
}

// unescape undoes what nginx and Apache write in quotes: \xHH, \", \\, \n and the like.
func unescape(word string) string {
	if strings.IndexByte(word, '\\') < 0 {
		return word
	}
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c != '\\' || i+1 == len(word) {
			out = append(out, c)
			continue
		}
		i++
		switch c = word[i]; c {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'r':
			c = '\r'
		case 'x':
			if i+2 < len(word) && isHex(word[i+1]) && isHex(word[i+2]) {
				c = unhex(word[i+1])<<4 | unhex(word[i+2])
				i += 2
			}
		}
		out = append(out, c)
	}
	return string(out)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// unhex gives the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
