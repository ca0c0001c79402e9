// Package plainfmt formats text as package fmt does, in the few ways that the
// module's messages need, and without reflection. Package fmt makes the module
// a twelfth larger (docs/performance.md).
package plainfmt

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Sprintf follows fmt.Sprintf for the verbs %s, %q, %d, %v and %%, of which
// the first two take a precision, written out or as "*". Values are strings,
// bytes, integers, errors and what has a String method. A verb without a value,
// a value of another kind and an unknown verb leave "%!" and the verb, and a
// value without a verb is left out.
func Sprintf(format string, values ...any) string {
	b := make([]byte, 0, len(format)+32)
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		var precision int
		precision, i, values = readPrecision(format, i+1, values)
		switch {
		case i == len(format):
			return string(append(b, "%!"...))
		case format[i] == '%':
			b = append(b, '%')
			continue
		case len(values) == 0:
			b = append(b, '%', '!', format[i])
			continue
		}
		b = appendValue(b, format[i], precision, values[0])
		values = values[1:]
	}
	return string(b)
}

// Errorf makes an error of what Sprintf says. It wraps none.
func Errorf(format string, values ...any) error { return errors.New(Sprintf(format, values...)) }

// unlimited is the precision of a verb without one.
const unlimited = -1

// readPrecision reads a precision, if one stands at format[i], and says where the
// verb is and what values are left.
func readPrecision(format string, i int, values []any) (precision, verb int, rest []any) {
	if i == len(format) || format[i] != '.' {
		return unlimited, i, values
	}
	i++
	if i < len(format) && format[i] == '*' {
		if n, ok := first(values).(int); ok {
			return n, i + 1, values[1:]
		}
		return unlimited, i + 1, values
	}
	for i < len(format) && '0' <= format[i] && format[i] <= '9' {
		precision = 10*precision + int(format[i]-'0')
		i++
	}
	return precision, i, values
}

func first(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

func appendValue(b []byte, verb byte, precision int, value any) []byte {
	switch verb {
	case 's', 'v', 'd':
		if n, ok := integer(value); ok && verb != 's' {
			return strconv.AppendInt(b, n, 10)
		}
		if text, ok := words(value); ok && verb != 'd' {
			return append(b, cut(text, precision)...)
		}
	case 'q':
		if text, ok := words(value); ok {
			return strconv.AppendQuote(b, cut(text, precision))
		}
		if n, ok := integer(value); ok {
			return strconv.AppendQuoteRune(b, rune(n))
		}
	}
	return append(b, '%', '!', verb)
}

func integer(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case uint32:
		return int64(v), true
	case byte:
		return int64(v), true
	case rune:
		return int64(v), true
	}
	return 0, false
}

func words(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case error:
		return v.Error(), true
	case interface{ String() string }:
		return v.String(), true
	}
	return "", false
}

// cut leaves the first so many characters of text.
func cut(text string, characters int) string {
	if characters == unlimited {
		return text
	}
	end := 0
	for ; characters > 0 && end < len(text); characters-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}
