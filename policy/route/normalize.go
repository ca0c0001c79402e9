package route

import "strings"

// Reading says how paths are read, those of requests and those of templates
// alike. The zero value is how most servers read them.
type Reading struct {
	// IgnoreCase is for servers to which /Login and /login are one.
	IgnoreCase bool
	// KeepParameters is for servers to which /login;v=1 is not /login: it makes
	// what follows a ";" in a segment a part of it, instead of cutting it off.
	KeepParameters bool
}

// Normalize appends the normal form of a request's path to dst. All spellings
// that servers commonly read as one path have one normal form:
//
//   - the query (and a fragment) is cut off;
//   - "\" separates segments as "/" does;
//   - a segment's parameters, from the first ";" on, are cut off (RFC 3986,
//     section 3.3, names the custom; Tomcat and Jetty follow it). An escaped one,
//     %3B, stays data;
//   - percent escapes are decoded once, except those of the bytes that mean
//     something in a path: % / ? # ; and \ stay data, written as upper-case
//     escapes. A percent sign that starts no escape is data too, written %25;
//   - empty segments and "." are dropped, ".." takes the segment before it away,
//     a trailing slash is dropped, and the result starts with "/".
//
// It never fails, and the normal form is its own normal form: a path that was
// decoded once is not decoded again.
//
// Empty segments go before ".." is applied, as in nginx, Apache, Go and
// Python. RFC 3986, section 5.2.4, would let "/x//../login" stay below /x, and
// with it anybody could spell /login for those servers without being counted.
// Parameters go before both, and before escapes are decoded, as in Tomcat, so
// "/x/..;v=1/login" is /login.
func (r Reading) Normalize(dst []byte, rawPath string) []byte {
	root := len(dst)
	path := cutQuery(rawPath)
	if r.isNormal(path) {
		dst = append(dst, path...)
	} else {
		dst = r.appendNormal(dst, path)
	}
	if r.IgnoreCase {
		foldCase(dst[root:])
	}
	return dst
}

// appendNormal appends the normal form of a path without a query.
func (r Reading) appendNormal(dst []byte, path string) []byte {
	root := len(dst)
	for len(path) > 0 {
		var segment string
		segment, path = nextSegment(path)

		start := len(dst)
		dst = append(dst, '/')
		dst = r.appendSegment(dst, segment)
		switch string(dst[start+1:]) {
		case "", ".":
			dst = dst[:start]
		case "..":
			dst = dropLastSegment(dst[:start], root)
		}
	}
	if len(dst) == root {
		dst = append(dst, '/')
	}
	return dst
}

// isNormal says that a path without a query is its own normal form, as most
// paths are. It says so of none that begins a segment with a dot.
func (r Reading) isNormal(path string) bool {
	if len(path) < 2 || path[0] != '/' || path[len(path)-1] == '/' {
		return path == "/"
	}
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case c == '%', c == '\\', c == ';' && !r.KeepParameters:
			return false
		case (c == '/' || c == '.') && path[i-1] == '/':
			return false
		}
	}
	return true
}

// foldCase lowers the ASCII letters of a path in place.
func foldCase(path []byte) {
	for i, c := range path {
		path[i] = lower(c)
	}
}

func cutQuery(rawPath string) string {
	for i := range len(rawPath) {
		if c := rawPath[i]; c == '?' || c == '#' {
			return rawPath[:i]
		}
	}
	return rawPath
}

func nextSegment(path string) (segment, rest string) {
	for i := range len(path) {
		if path[i] == '/' || path[i] == '\\' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

// dropLastSegment cuts path before its last slash, but never before root.
func dropLastSegment(path []byte, root int) []byte {
	for i := len(path) - 1; i >= root; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path[:root]
}

// appendSegment decodes one segment.
func (r Reading) appendSegment(dst []byte, segment string) []byte {
	if !r.KeepParameters {
		segment, _, _ = strings.Cut(segment, ";")
	}
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c != '%' {
			dst = append(dst, c)
			continue
		}
		if i+2 < len(segment) && isHex(segment[i+1]) && isHex(segment[i+2]) {
			c = unhex(segment[i+1])<<4 | unhex(segment[i+2])
			i += 2
		}
		if r.staysEscaped(c) {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func (r Reading) staysEscaped(c byte) bool {
	return c == '%' || c == '/' || c == '?' || c == '#' || c == '\\' || c == ';' && !r.KeepParameters
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
