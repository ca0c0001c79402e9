package policy

import (
	"encoding/binary"
	"errors"
)

// Fields of envoy.config.core.v3.Metadata and of every map, by their numbers.
const (
	metadataFilterMetadata = 1 // map of Struct

	mapKey   = 1
	mapValue = 2
)

var errProto = errors.New("it is not a serialised Metadata message; give the bytes of xds.route_metadata")

// The kinds of fields that are read. (Groups, which are none of them, left the
// format before these messages were made.)
// https://protobuf.dev/programming-guides/encoding/
const (
	varintField  = 0
	fixed64Field = 1
	bytesField   = 2
	fixed32Field = 5
)

// field is one field of a protobuf message.
type field struct {
	number uint64
	kind   byte
	bytes  []byte // of a length-delimited field
	bits   uint64 // of any other
}

// nextField takes the first field off a message.
func nextField(message []byte) (f field, rest []byte, err error) {
	tag, rest, ok := takeVarint(message)
	if f = (field{number: tag >> 3, kind: byte(tag & 7)}); !ok || f.number < 1 || f.number > 1<<29-1 {
		return field{}, nil, errProto
	}
	switch f.kind {
	case varintField:
		f.bits, rest, ok = takeVarint(rest)
	case bytesField:
		var size uint64
		if size, rest, ok = takeVarint(rest); ok {
			f.bytes, rest, ok = take(rest, size)
		}
	case fixed64Field:
		var b []byte
		if b, rest, ok = take(rest, 8); ok {
			f.bits = binary.LittleEndian.Uint64(b)
		}
	case fixed32Field:
		var b []byte
		if b, rest, ok = take(rest, 4); ok {
			f.bits = uint64(binary.LittleEndian.Uint32(b))
		}
	default:
		ok = false
	}
	if !ok {
		return field{}, nil, errProto
	}
	return f, rest, nil
}

func takeVarint(message []byte) (value uint64, rest []byte, ok bool) {
	value, size := binary.Uvarint(message)
	if size <= 0 {
		return 0, nil, false
	}
	return value, message[size:], true
}

func take(message []byte, size uint64) (taken, rest []byte, ok bool) {
	if size > uint64(len(message)) {
		return nil, nil, false
	}
	return message[:size], message[size:], true
}

func (f field) is(number uint64, kind byte) bool { return f.number == number && f.kind == kind }

// findNamespace returns the Struct under a name in a Metadata message.
func findNamespace(metadata []byte, name string) (fields []byte, ok bool, err error) {
	for len(metadata) > 0 {
		var f field
		if f, metadata, err = nextField(metadata); err != nil {
			return nil, false, err
		}
		if !f.is(metadataFilterMetadata, bytesField) {
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
		case f.is(mapKey, bytesField):
			key = f.bytes
		case f.is(mapValue, bytesField):
			value = f.bytes
		}
	}
	return key, value, nil
}
