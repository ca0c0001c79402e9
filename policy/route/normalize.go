package route

// Normalize appends the normal form of a request's path to dst. All spellings
// that servers commonly read as one path have one normal form:
//
//   - the query (and a fragment) is cut off;
//   - "\" separates segments as "/" does;
//   - percent escapes are decoded once, except those of the bytes that mean
//     something in a path: % / ? # and \ stay data, written as upper-case
//     escapes. A percent sign that starts no escape is data too, written %25;
//   - empty segments and "." are dropped, ".." takes the segment before it away,
//     a trailing slash is dropped, and the result starts with "/".
//
// It never fails, and the normal form is its own normal form: a path that was
// decoded once is not decoded again. Letters keep their case (see [FoldCase]).
//
// Empty segments go before ".." is applied, as in nginx, Apache, Go and
// Python. RFC 3986, section 5.2.4, would let "/x//../login" stay below /x, and
// with it anybody could spell /login for those servers without being counted.
func Normalize(dst []byte, rawPath string) []byte {
	root := len(dst)
	path := cutQuery(rawPath)
	if isNormal(path) {
		return append(dst, path...)
	}
	for len(path) > 0 {
		var segment string
		segment, path = nextSegment(path)

		start := len(dst)
		dst = append(dst, '/')
		dst = appendDecoded(dst, segment)
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
func isNormal(path string) bool {
	if len(path) < 2 || path[0] != '/' || path[len(path)-1] == '/' {
		return path == "/"
	}
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case c == '%', c == '\\':
			return false
		case (c == '/' || c == '.') && path[i-1] == '/':
			return false
		}
	}
	return true
}

// FoldCase lowers the ASCII letters of a normalised path in place, for servers
// to which /Login and /login are one.
func FoldCase(path []byte) {
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

func appendDecoded(dst []byte, segment string) []byte {
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
		if staysEscaped(c) {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func staysEscaped(c byte) bool {
	return c == '%' || c == '/' || c == '?' || c == '#' || c == '\\'
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
