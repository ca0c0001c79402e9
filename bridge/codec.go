package bridge

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the health service's
	"google.golang.org/grpc/mem"

	"routelimit/resp"
)

// The stream's names, as filter/plugin.go opens it.
const (
	service = "routelimit.Link"
	method  = "Pipe"
)

// codec passes the bytes of messages on as they are: into a resp.Decoder, and out of replies. The health service's
// messages are protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// replies are the bytes of one message to the module. They belong to gRPC once they are sent.
type replies []byte

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(replies); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	d, ok := v.(*resp.Decoder)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	for _, part := range data {
		d.Write(part.ReadOnlyData())
	}
	return nil
}
