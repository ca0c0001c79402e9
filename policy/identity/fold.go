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
// around it are cut, characters that nobody sees dropped, compatibility forms
// replaced (Unicode's NFKC: full-width letters, ligatures), marks over and under
// letters taken off, and letter case removed. Bytes that are not UTF-8 stay as
// they are.
func fold(dst []byte, start int) []byte {
	value := trimSpace(dropUnseen(dst[start:]))
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
	bare := dropMarks(norm.NFKD.Bytes(value))
	caseless := appendCaseless(make([]byte, 0, len(bare)+8), bare)
	return append(dst[:start], trimSpace(norm.NFKC.Bytes(caseless))...)
}

// trimSpace cuts what the trimming functions of common languages cut: Unicode
// blanks, control characters (Java, PHP) and the byte-order mark (JavaScript).
func trimSpace(b []byte) []byte {
	return bytes.TrimFunc(b, func(r rune) bool {
		return r <= ' ' || r == '\ufeff' || unicode.IsSpace(r)
	})
}

// dropUnseen takes out, in place, what directories (RFC 4518, section 2.2) and the
// collations of databases ignore wherever it stands: control characters but for
// blanks, and Unicode's default ignorable ones, such as a soft hyphen and a space
// of no width.
func dropUnseen(b []byte) []byte {
	kept := b[:0]
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if !isUnseen(r) {
			kept = append(kept, b[i:i+size]...)
		}
		i += size
	}
	return kept
}

// dropMarks takes out, in place, the marks of a decomposed text. Databases whose
// collation ignores accents find "alice" by it with any number of them.
func dropMarks(b []byte) []byte {
	kept := b[:0]
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if !unicode.Is(unicode.Mn, r) {
			kept = append(kept, b[i:i+size]...)
		}
		i += size
	}
	return kept
}

func isUnseen(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && (r < '\t' || r > '\r') || r == 0x7f
	}
	return unicode.IsControl(r) && !unicode.IsSpace(r) ||
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
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
// sigmas are one). The first that is no mark: U+0345 is an iota, too.
func caseless(r rune) rune {
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if next < first && !unicode.Is(unicode.Mn, next) {
			first = next
		}
	}
	return unicode.ToLower(first)
}
