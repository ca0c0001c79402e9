package policy

import (
	"errors"
	"math"
	"strconv"
)

// Fields of google.protobuf.Struct, Value and ListValue, by their numbers.
const (
	structFields = 1 // map of Value

	valueNumber = 2 // one of
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6

	listValues = 1
)

// maxStructDepth bounds the recursion. The JSON reader's own limit lies below it.
const maxStructDepth = 64

var errDepth = errors.New("its values are nested too deeply; nest less")

// appendStruct appends a google.protobuf.Struct as JSON, so that one reader
// serves both forms of a route.
func appendStruct(dst, message []byte, depth int) ([]byte, error) {
	if depth > maxStructDepth {
		return nil, errDepth
	}
	dst = append(dst, '{')
	for first := true; len(message) > 0; {
		f, rest, err := nextField(message)
		if err != nil {
			return nil, err
		}
		message = rest
		if !f.is(structFields, bytesField) {
			continue
		}
		key, value, err := readEntry(f.bytes)
		if err != nil {
			return nil, err
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, key), ':')
		if dst, err = appendValue(dst, value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst, message []byte, depth int) ([]byte, error) {
	if depth > maxStructDepth {
		return nil, errDepth
	}
	dst = append(dst, '[')
	for first := true; len(message) > 0; {
		f, rest, err := nextField(message)
		if err != nil {
			return nil, err
		}
		message = rest
		if !f.is(listValues, bytesField) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, err = appendValue(dst, f.bytes, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendValue appends a google.protobuf.Value. Of several fields the last
// counts; without any it is null.
func appendValue(dst, message []byte, depth int) ([]byte, error) {
	var last field
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return nil, err
		}
		last, message = f, rest
	}
	switch {
	case last.is(valueNumber, fixed64Field):
		return strconv.AppendFloat(dst, math.Float64frombits(last.bits), 'g', -1, 64), nil
	case last.is(valueString, bytesField):
		return appendString(dst, last.bytes), nil
	case last.is(valueBool, varintField):
		return strconv.AppendBool(dst, last.bits != 0), nil
	case last.is(valueStruct, bytesField):
		return appendStruct(dst, last.bytes, depth)
	case last.is(valueList, bytesField):
		return appendList(dst, last.bytes, depth)
	}
	return append(dst, "null"...), nil
}

// appendString appends a text as JSON. What is not UTF-8 stays as it is: the
// reader says so.
func appendString(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
