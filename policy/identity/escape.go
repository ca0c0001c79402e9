package identity

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxValue is the longest value, in bytes, that stands in a key itself.
const maxValue = 128

// AppendEscaped appends a value in a form that no other value has: letters,
// digits and . _ ~ / @ : = + , * - stay, any other byte becomes %XX. For a
// value of more than 128 bytes "#" and the first half of its SHA-256 in
// hexadecimal stand in; no shorter value gives a "#".
//
// What comes out holds no blank, brace, bar or control character.
func AppendEscaped[T ~string | ~[]byte](dst []byte, value T) []byte {
	if len(value) > maxValue {
		return appendDigest(dst, []byte(value))
	}
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(value); i++ {
		if c := value[i]; isPlain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

func appendDigest(dst, value []byte) []byte {
	sum := sha256.Sum256(value)
	return hex.AppendEncode(append(dst, '#'), sum[:16])
}

// escape does the same to dst[start:] in place.
func escape(dst []byte, start int) []byte {
	value := dst[start:]
	if len(value) > maxValue {
		return appendDigest(dst[:start], value)
	}
	for _, c := range value {
		if !isPlain[c] {
			var copied [maxValue]byte
			return AppendEscaped(dst[:start], copied[:copy(copied[:], value)])
		}
	}
	return dst
}

// isPlain holds the bytes that need no escape.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = isAlphanumeric(byte(c))
	}
	for _, c := range "._~/@:=+,*-" {
		plain[c] = true
	}
	return plain
}()
