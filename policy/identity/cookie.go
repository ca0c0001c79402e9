package identity

import (
	"errors"
	"strings"
)

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
