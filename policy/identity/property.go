package identity

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"routelimit/plainfmt"
)

// propertySource reads an Envoy attribute or dynamic metadata.
type propertySource struct {
	path   string // elements joined by NUL
	double bool   // a number of eight bytes is a double, not an integer
}

// requestRoots begin the attributes that are known when a request arrives
// (Envoy's documentation, "Attributes").
var requestRoots = []string{"connection", "destination", "filter_state", "metadata", "request", "source", "xds"}

func parsePropertySource(argument string) (reader, error) {
	elements, err := splitPath(argument, '.')
	if err != nil {
		return nil, err
	}
	if !slices.Contains(requestRoots, elements[0]) {
		return nil, plainfmt.Errorf("no attribute that begins with %q is known when a request arrives; begin with one of %s",
			elements[0], strings.Join(requestRoots, ", "))
	}
	return &propertySource{
		path:   strings.Join(elements, "\x00"),
		double: slices.Contains(elements, "filter_metadata"), // protobuf structs know no other number
	}, nil
}

func parseMetadataSource(argument string) (reader, error) {
	elements, err := splitPath(argument, '/')
	if err != nil {
		return nil, err
	}
	if len(elements) < 2 {
		return nil, errors.New(`a namespace and a key are needed; write "metadata:envoy.filters.http.jwt_authn/payload/sub"`)
	}
	return &propertySource{
		path:   "metadata\x00filter_metadata\x00" + strings.Join(elements, "\x00"),
		double: true,
	}, nil
}

// read takes strings and integers. Envoy sends no type with a value, but text
// has no NUL byte, while lists, maps and truth values have one (or are one
// byte of 1, which is no text either).
func (s *propertySource) read(dst []byte, r *Request) ([]byte, found) {
	value, ok := r.Attrs.Property(s.path)
	switch {
	case !ok:
		return dst, missing
	case isNumber(value):
		return s.appendNumber(dst, binary.LittleEndian.Uint64(value))
	case slices.Contains(value, 0), len(value) == 1 && value[0] == 1:
		return dst, missing
	}
	return append(dst, value...), text
}

// isNumber tells a number from a text of eight bytes: integers below 2^45 have
// a zero byte as doubles, those below 2^56 as integers.
func isNumber(value []byte) bool {
	isControl := func(c byte) bool { return c < ' ' }
	return len(value) == 8 && (slices.ContainsFunc(value, isControl) || !utf8.Valid(value))
}

func (s *propertySource) appendNumber(dst []byte, bits uint64) ([]byte, found) {
	if !s.double {
		return strconv.AppendInt(dst, int64(bits), 10), number
	}
	// From 2^53 on a double no longer tells neighbours apart, so two callers
	// could share one.
	f := math.Float64frombits(bits)
	if math.Trunc(f) != f || math.Abs(f) >= 1<<53 {
		return dst, missing
	}
	return strconv.AppendInt(dst, int64(f), 10), number
}
