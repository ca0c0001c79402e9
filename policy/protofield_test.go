package policy

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// A field is what protobuf's own library reads there, whatever the bytes are; but
// for groups, of which the messages have none.
func TestFieldsAsProtobufReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := drawMessage(t)
		f, rest, err := nextField(message)
		number, kind, n := protowire.ConsumeTag(message)
		size := n
		if n > 0 {
			size = protowire.ConsumeFieldValue(number, kind, message[n:])
		}
		group := kind == protowire.StartGroupType || kind == protowire.EndGroupType
		if wrong := n < 0 || size < 0 || group; wrong != (err != nil) {
			t.Fatalf("%x: error %v, want one: %v", message, err, wrong)
		}
		if err != nil {
			return
		}
		if f.number != uint64(number) || f.kind != byte(kind) || len(rest) != len(message)-n-size {
			t.Fatalf("%x: field %d of kind %d leaves %d bytes, want %d, %d and %d", message, f.number, f.kind, len(rest), number, kind, len(message)-n-size)
		}
		if value := message[n : n+size]; !sameValue(f, value) {
			t.Fatalf("%x: %x and %d of the value %x", message, f.bytes, f.bits, value)
		}
	})
}

func sameValue(f field, value []byte) bool {
	switch f.kind {
	case varintField:
		bits, _ := protowire.ConsumeVarint(value)
		return f.bits == bits
	case fixed64Field:
		bits, _ := protowire.ConsumeFixed64(value)
		return f.bits == bits
	case fixed32Field:
		bits, _ := protowire.ConsumeFixed32(value)
		return f.bits == uint64(bits)
	}
	bytes, _ := protowire.ConsumeBytes(value)
	return string(f.bytes) == string(bytes)
}

// drawMessage is a field, whole or cut, with anything behind it, or any bytes.
func drawMessage(t *rapid.T) []byte {
	anything := rapid.SliceOfN(rapid.Byte(), 0, 24)
	if rapid.Bool().Draw(t, "bytes") {
		return anything.Draw(t, "message")
	}
	kind := rapid.SampledFrom([]protowire.Type{protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type, protowire.BytesType}).Draw(t, "kind")
	message := protowire.AppendTag(nil, protowire.Number(rapid.Int32Range(1, 1<<29-1).Draw(t, "number")), kind)
	if kind == protowire.BytesType {
		message = protowire.AppendBytes(message, anything.Draw(t, "value"))
	}
	message = append(message, anything.Draw(t, "rest")...)
	return message[:rapid.IntRange(0, len(message)).Draw(t, "size")]
}
