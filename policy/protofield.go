package policy

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of envoy.config.core.v3.Metadata and of every map, by their numbers.
const (
	metadataFilterMetadata = 1 // map of Struct

	mapKey   = 1
	mapValue = 2
)

var errProto = errors.New("it is not a serialised Metadata message; give the bytes of xds.route_metadata")

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
