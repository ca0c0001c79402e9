package identity

import (
	"bytes"
	"errors"
	"strings"
)

// querySource reads one parameter of the query.
type querySource struct{ name []byte }

func parseQuerySource(argument string) (reader, error) {
	if argument == "" {
		return nil, errors.New(`no parameter is named; write "query:" and its name`)
	}
	return &querySource{[]byte(argument)}, nil
}

func (s *querySource) read(dst []byte, r *Request) ([]byte, found) {
	path, _ := r.Attrs.Header(":path", 0)
	path, _, _ = strings.Cut(path, "#")
	_, query, _ := strings.Cut(path, "?")
	return appendField(dst, query, s.name, r)
}

// appendField looks a field up in application/x-www-form-urlencoded text
// (WHATWG URL, section 5). Names are compared decoded and without regard to
// letter case, since some upstreams do so; a second one makes it ambiguous.
func appendField(dst []byte, fields string, name []byte, r *Request) ([]byte, found) {
	start := len(dst)
	var value string
	seen := false
	for more := true; more; {
		var field string
		field, fields, more = strings.Cut(fields, "&")
		n, v, _ := strings.Cut(field, "=")
		dst = appendDecoded(dst[:start], n, true)
		if !bytes.EqualFold(dst[start:], name) {
			continue
		}
		if seen {
			r.Noted |= Ambiguous
			return dst[:start], missing
		}
		seen, value = true, v
	}
	dst = dst[:start]
	if !seen {
		return dst, missing
	}
	return appendDecoded(dst, value, true), text
}

// appendDecoded undoes percent-encoding once. A bad escape stays as it is.
func appendDecoded(dst []byte, s string, plusIsBlank bool) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '+' && plusIsBlank:
			c = ' '
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
		}
		dst = append(dst, c)
	}
	return dst
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
