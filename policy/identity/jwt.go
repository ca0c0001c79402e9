package identity

import (
	"encoding/base64"
	"strings"
)

// jwtSource reads a claim of the bearer token. Nobody has checked that token:
// it tells honest callers apart and stops no liar, so a limit for the address
// belongs beside it, or a filter that verifies before this one.
type jwtSource struct{ path [][]byte }

func parseJWTSource(argument string) (reader, error) {
	path, err := parseJSONPath(argument)
	if err != nil {
		return nil, err
	}
	return &jwtSource{path}, nil
}

func (s *jwtSource) read(dst []byte, r *Request) ([]byte, found) {
	line, ok := r.onlyLine("authorization")
	if !ok {
		return dst, missing
	}
	scheme, token, _ := strings.Cut(line, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return dst, missing
	}
	payload, ok := jwtPayload(trimBlanks(token))
	if !ok {
		return dst, missing
	}
	// The claims are decoded behind dst, and the value then moves down.
	start := len(dst)
	dst, err := base64.RawURLEncoding.AppendDecode(dst, bytesOf(payload))
	if err != nil {
		return dst[:start], missing
	}
	dst, what, _ := appendJSONField(dst[:start], dst[start:], s.path, r)
	if what == unread {
		what = missing
	}
	return dst, what
}

// jwtPayload gives the middle one of the three parts of a token (RFC 7519,
// section 3), without the padding that some issuers leave on it.
func jwtPayload(token string) (string, bool) {
	_, rest, _ := strings.Cut(token, ".")
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(signature, ".") {
		return "", false
	}
	return strings.TrimRight(payload, "="), true
}
