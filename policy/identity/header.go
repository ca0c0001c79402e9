package identity

import (
	"strings"

	"routelimit/plainfmt"
)

// headerSource reads a header that may occur once.
type headerSource struct{ name string }

func parseHeaderSource(argument string) (reader, error) {
	name := strings.ToLower(argument)
	if !isToken(strings.TrimPrefix(name, ":")) {
		return nil, plainfmt.Errorf("%q is no header name; write letters, digits and hyphens", argument)
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
	return s.append(dst, value), text
}

// append appends a value in one form, where it has many. The letter case of a
// host does not count, nor do its port and a final dot, as for routes; nor that of
// a scheme of credentials, or how many blanks follow it (RFC 9110, section 11.4).
func (s *headerSource) append(dst []byte, value string) []byte {
	switch s.name {
	case ":authority":
		if port := strings.LastIndexByte(value, ':'); port > strings.LastIndexByte(value, ']') {
			value = value[:port]
		}
		return appendLower(dst, strings.TrimSuffix(value, "."))
	case "authorization", "proxy-authorization":
		return appendCredentials(dst, value)
	}
	return append(dst, value...)
}

func appendCredentials(dst []byte, value string) []byte {
	end := strings.IndexAny(value, " \t")
	if end < 0 {
		end = len(value)
	}
	dst = appendLower(dst, value[:end])
	if rest := trimBlanks(value[end:]); rest != "" {
		dst = append(append(dst, ' '), rest...)
	}
	return dst
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte {
	for _, c := range []byte(s) {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
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

// trimBlanks takes off what HTTP allows around a value.
func trimBlanks(s string) string {
	if s == "" || s[0] > ' ' && s[len(s)-1] > ' ' {
		return s // nearly always
	}
	return strings.Trim(s, " \t")
}

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
