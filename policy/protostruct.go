package policy

import (
	"errors"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the messages that are read, by their numbers.
const (
	metadataFilterMetadata = 1 // envoy.config.core.v3.Metadata: map of Struct

	structFields = 1 // google.protobuf.Struct: map of Value

	mapKey   = 1
	mapValue = 2

	valueNumber = 2 // google.protobuf.Value, one of
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6

	listValues = 1 // google.protobuf.ListValue
)

// maxStructDepth bounds the recursion. The JSON reader's own limit lies below it.
const maxStructDepth = 64

var (
	errProto = errors.New("it is not a serialised Metadata message; give the bytes of xds.route_metadata")
	errDepth = errors.New("its values are nested too deeply; nest less")
)

// field is one field of a protobuf message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte // of a length-delimited field
	bits   uint64 // of any other
}

// nextField takes the first field off a message.
func nextField(message []byte) (f field, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(message)
	if n < 0 {
		return field{}, nil, errProto
	}
	f = field{number: number, kind: kind}
	message = message[n:]
	switch kind {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(message)
	case protowire.VarintType:
		f.bits, n = protowire.ConsumeVarint(message)
	case protowire.Fixed64Type:
		f.bits, n = protowire.ConsumeFixed64(message)
	default:
		n = protowire.ConsumeFieldValue(number, kind, message)
	}
	if n < 0 {
		return field{}, nil, errProto
	}
	return f, message[n:], nil
}

func (f field) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

// findNamespace returns the Struct under a name in a Metadata message.
func findNamespace(metadata []byte, name string) (fields []byte, ok bool, err error) {
	for len(metadata) > 0 {
		var f field
		if f, metadata, err = nextField(metadata); err != nil {
			return nil, false, err
		}
		if !f.is(metadataFilterMetadata, protowire.BytesType) {
			continue
		}
		key, value, err := readEntry(f.bytes)
		if err != nil {
			return nil, false, err
		}
		if string(key) == name {
			fields, ok = value, true
		}
	}
	return fields, ok, nil
}

// readEntry reads an entry of a map from text to a message.
func readEntry(entry []byte) (key, value []byte, err error) {
	for len(entry) > 0 {
		var f field
		if f, entry, err = nextField(entry); err != nil {
			return nil, nil, err
		}
		switch {
		case f.is(mapKey, protowire.BytesType):
			key = f.bytes
		case f.is(mapValue, protowire.BytesType):
			value = f.bytes
		}
	}
	return key, value, nil
}

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
		if !f.is(structFields, protowire.BytesType) {
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
		if !f.is(listValues, protowire.BytesType) {
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
	case last.is(valueNumber, protowire.Fixed64Type):
		return strconv.AppendFloat(dst, math.Float64frombits(last.bits), 'g', -1, 64), nil
	case last.is(valueString, protowire.BytesType):
		return appendString(dst, last.bytes), nil
	case last.is(valueBool, protowire.VarintType):
		return strconv.AppendBool(dst, last.bits != 0), nil
	case last.is(valueStruct, protowire.BytesType):
		return appendStruct(dst, last.bytes, depth)
	case last.is(valueList, protowire.BytesType):
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
