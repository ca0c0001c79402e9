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
	return &querySource{fieldName([]byte(argument))}, nil
}

func (s *querySource) read(dst []byte, r *Request) ([]byte, found) {
	path, _ := r.Attrs.Header(":path", 0)
	path, _, _ = strings.Cut(path, "#")
	_, query, _ := strings.Cut(path, "?")
	return appendField(dst, query, s.name, r)
}

// appendField looks a field up in application/x-www-form-urlencoded text
// (WHATWG URL, section 5). name went through fieldName. Names are compared
// decoded and without regard to letter case, since some upstreams do so; a second
// one makes it ambiguous, and so does one behind a ";", by which older servers
// separate fields, too.
func appendField(dst []byte, fields string, name []byte, r *Request) ([]byte, found) {
	var value string
	seen := false
	for more := true; more; {
		var field string
		field, fields, more = strings.Cut(fields, "&")
		n, v, _ := strings.Cut(field, "=")
		here := isField(n, name)
		if here && seen || behindSemicolon(field, name) {
			r.Noted |= Ambiguous
			return dst, missing
		}
		if here {
			seen, value = true, v
		}
	}
	if !seen {
		return dst, missing
	}
	return appendDecoded(dst, value, true), text
}

// isField compares the name of a field as it is written.
func isField(written string, name []byte) bool {
	var buffer [128]byte
	return bytes.EqualFold(fieldName(appendDecoded(buffer[:0], written, true)), name)
}

func behindSemicolon(field string, name []byte) bool {
	for {
		var ok bool
		if _, field, ok = strings.Cut(field, ";"); !ok {
			return false
		}
		n, _, _ := strings.Cut(field, ";")
		if n, _, _ = strings.Cut(n, "="); isField(n, name) {
			return true
		}
	}
}

// fieldName turns the name of a field in place into the one that PHP makes of it:
// without blanks before it, up to a NUL, and with "_" for a blank, a dot and an
// open bracket. Elsewhere a caller may not have two such fields, which no form has.
func fieldName(name []byte) []byte {
	name = bytes.TrimLeft(name, " ")
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	for i, c := range name {
		if c == ' ' || c == '.' || c == '[' {
			name[i] = '_'
		}
	}
	return name
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
