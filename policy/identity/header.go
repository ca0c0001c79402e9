package identity

import (
	"errors"
	"fmt"
	"strings"
)

// headerSource reads a header that may occur once.
type headerSource struct{ name string }

func parseHeaderSource(argument string) (reader, error) {
	name := strings.ToLower(argument)
	if !isToken(strings.TrimPrefix(name, ":")) {
		return nil, fmt.Errorf("%q is no header name; write letters, digits and hyphens", argument)
	}
	if name == "host" {
		name = ":authority" // Envoy keeps the Host header under this name
	}
	return &headerSource{name}, nil
}

func (s *headerSource) read(dst []byte, r *Request) ([]byte, found) {
	value, ok := r.onlyLine(s.name)
	if !ok {
		return dst, missing
	}
	return append(dst, value...), text
}

// onlyLine gives the value of a header that occurs once, without the blanks
// around it, which are no part of it (RFC 9110, section 5.5).
func (r *Request) onlyLine(name string) (string, bool) {
	value, ok := r.Attrs.Header(name, 0)
	if !ok {
		return "", false
	}
	if _, again := r.Attrs.Header(name, 1); again {
		r.Noted |= Ambiguous
		return "", false
	}
	return trimBlanks(value), true
}

// cookieSource reads one cookie from all Cookie lines.
type cookieSource struct{ name string }

func parseCookieSource(argument string) (reader, error) {
	if !isToken(argument) {
		return nil, errors.New("a cookie's name has letters, digits and some signs, but no blank; write it as the application sets it")
	}
	return &cookieSource{argument}, nil
}

// read undoes quotes and percent-encoding, as many frameworks do: otherwise
// one session could be spelled in many ways, each with a quota of its own.
func (s *cookieSource) read(dst []byte, r *Request) ([]byte, found) {
	var value string
	seen := false
	for line := 0; ; line++ {
		pairs, ok := r.Attrs.Header("cookie", line)
		if !ok {
			break
		}
		for more := true; more; {
			var pair string
			pair, pairs, more = strings.Cut(pairs, ";")
			name, v, _ := strings.Cut(pair, "=")
			if !strings.EqualFold(trimBlanks(name), s.name) {
				continue
			}
			if seen {
				r.Noted |= Ambiguous
				return dst, missing
			}
			seen, value = true, v
		}
	}
	if !seen {
		return dst, missing
	}
	value = trimBlanks(value)
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	return appendDecoded(dst, value, false), text
}

// trimBlanks takes off what HTTP allows around a value.
func trimBlanks(s string) string { return strings.Trim(s, " \t") }

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isAlphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
