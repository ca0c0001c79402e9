package identity

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxFold is the longest value, without the blanks around it, that is folded.
// No login name is that long, and one character of three bytes can become 33.
const maxFold = 1024

// fold brings dst[start:] into the one form of a name that people type: blanks
// around it are cut, compatibility forms replaced (Unicode's NFKC: full-width
// letters, ligatures, composed accents) and letter case removed. Bytes that
// are not UTF-8 stay as they are.
func fold(dst []byte, start int) []byte {
	value := trimSpace(dst[start:])
	if len(value) > maxFold {
		return append(dst[:start], value...)
	}
	if isASCII(value) {
		for i, c := range value {
			if 'A' <= c && c <= 'Z' {
				value[i] = c + 'a' - 'A'
			}
		}
		return append(dst[:start], value...)
	}
	// Removing case can leave a text that is no longer normal.
	normal := norm.NFKC.Bytes(value)
	caseless := appendCaseless(make([]byte, 0, len(normal)+8), normal)
	return append(dst[:start], trimSpace(norm.NFKC.Bytes(caseless))...)
}

// trimSpace cuts what the trimming functions of common languages cut: Unicode
// blanks, control characters (Java, PHP) and the byte-order mark (JavaScript).
func trimSpace(b []byte) []byte {
	return bytes.TrimFunc(b, func(r rune) bool {
		return r <= ' ' || r == '\ufeff' || unicode.IsSpace(r)
	})
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendCaseless(dst, src []byte) []byte {
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, src[0])
		} else {
			dst = utf8.AppendRune(dst, caseless(r))
		}
		src = src[size:]
	}
	return dst
}

// caseless gives one letter for all that differ by case alone: the lower-case
// form of the first one (Unicode's simple case folding, so that also the three
// sigmas are one).
func caseless(r rune) rune {
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return unicode.ToLower(first)
}
