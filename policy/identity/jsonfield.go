package identity

import (
	"bytes"

	"routelimit/plainfmt"
)

// A configured path has at most maxJSONPath keys of maxJSONKey bytes each.
const (
	maxJSONPath = 16
	maxJSONKey  = 128
)

// parseJSONPath reads "user.name".
func parseJSONPath(text string) ([][]byte, error) {
	elements, err := splitPath(text, '.')
	if err != nil {
		return nil, err
	}
	if len(elements) > maxJSONPath {
		return nil, plainfmt.Errorf("the path has %d keys; write at most %d", len(elements), maxJSONPath)
	}
	path := make([][]byte, len(elements))
	for i, e := range elements {
		if len(e) > maxJSONKey {
			return nil, plainfmt.Errorf("the key %q… has %d bytes; write at most %d", e[:20], len(e), maxJSONKey)
		}
		path[i] = []byte(e)
	}
	return path, nil
}

// appendJSONField appends the string or the integer at a path. Anything else there
// but null is unread: upstreams make a name of ["alice"], and 7 of 7.0. The last
// result is false if the text is not valid JSON.
//
// doc may lie in dst's own memory behind its end.
func appendJSONField(dst, doc []byte, path [][]byte, r *Request) ([]byte, found, bool) {
	value, result := lookupJSON(doc, path)
	switch {
	case result == jsonAmbiguous:
		r.Noted |= Ambiguous
	case result == jsonFound && value[0] == '"':
		return appendUnescaped(dst, value[1:len(value)-1]), text, true
	case result == jsonFound && isInteger(value):
		return append(dst, value...), number, true
	case result == jsonNested, result == jsonFound && value[0] != 'n':
		return dst, unread, true
	}
	return dst, missing, result != jsonInvalid
}

// isInteger tells integers from all other JSON values.
func isInteger(value []byte) bool {
	if value[0] == '-' {
		value = value[1:]
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// equalKey compares a key as it is written with a wanted one.
func equalKey(raw, want []byte) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return bytes.EqualFold(raw, want)
	}
	// An escape takes at most six bytes for one.
	var buffer [6 * maxJSONKey]byte
	if len(raw) > len(buffer) {
		return false
	}
	return bytes.EqualFold(appendUnescaped(buffer[:0], raw), want)
}
