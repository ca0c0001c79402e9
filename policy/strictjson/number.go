package strictjson

import (
	"strconv"
	"strings"
)

// isNumber tells whether a text is a number of RFC 8259, section 6.
func isNumber(text string) bool {
	rest := strings.TrimPrefix(text, "-")
	whole := leadingDigits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return false
	}
	rest = rest[whole:]
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		digits := leadingDigits(fraction)
		if digits == 0 {
			return false
		}
		rest = fraction[digits:]
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
	return rest != "" && leadingDigits(rest) == len(rest)
}

func leadingDigits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// fit says how a number relates to the whole numbers of 64 bits.
type fit uint8

const (
	fits fit = iota
	hasFraction
	tooLarge
)

// wholeNumber reads a JSON number exactly, without a detour by floating point:
// 1e3 and 1000.0 are 1000 (Envoy writes the numbers of a Struct in such forms).
func wholeNumber(text string) (int64, fit) {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")

	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, fits
	}
	// The number is significant times ten to the power of shift.
	shift := clampedExponent(exponent) - len(fraction) + len(digits) - len(significant)
	if shift < 0 {
		return 0, hasFraction
	}
	const longest = 19 // digits of the largest int64
	if len(significant)+shift > longest {
		return 0, tooLarge
	}
	plain := significant + strings.Repeat("0", shift)
	if negative {
		plain = "-" + plain
	}
	n, err := strconv.ParseInt(plain, 10, 64)
	if err != nil {
		return 0, tooLarge
	}
	return n, fits
}

// clampedExponent reads an exponent; a huge one becomes one that is huge enough
// for any text that fits into memory.
func clampedExponent(text string) int {
	n, err := strconv.Atoi(text)
	const huge = 1 << 30
	if err != nil && text != "" {
		if text[0] == '-' {
			return -huge
		}
		return huge
	}
	return max(-huge, min(huge, n))
}
