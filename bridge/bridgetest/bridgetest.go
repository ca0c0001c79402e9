// Package bridgetest opens the stream to a bridge as the module does, for tests.
package bridgetest

import (
	"context"
	"crypto/tls"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the health service's
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"

	"routelimit/resp"
)

// Client is a connection to a bridge.
type Client struct {
	t    testing.TB
	conn *grpc.ClientConn
}

// Dial connects to host:port or unix:path, in plain text where config is nil. It ends with the test.
func Dial(t testing.TB, target string, config *tls.Config) *Client {
	t.Helper()
	secure := insecure.NewCredentials()
	if config != nil {
		secure = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(secure), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{encoding.GetCodecV2("proto")})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &Client{t: t, conn: conn}
}

// Ready says whether the bridge calls itself of use.
func (c *Client) Ready(ctx context.Context) bool {
	answer, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err == nil && answer.Status == healthpb.HealthCheckResponse_SERVING
}

// Stream is one of the module's.
type Stream struct {
	stream  grpc.ClientStream
	decoder resp.Decoder
}

// Open opens a stream. It ends with ctx.
func (c *Client) Open(ctx context.Context) (*Stream, error) {
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/routelimit.Link/Pipe")
	return &Stream{stream: stream}, err
}

// Ask sends commands as one message and returns the next n replies, none of them an array.
func (s *Stream) Ask(commands []byte, n int) (list []resp.Value, err error) {
	if err := s.stream.SendMsg(message(commands)); err != nil {
		return nil, err
	}
	for len(list) < n {
		v, err := s.decoder.Next()
		if err == resp.ErrShort {
			if err := s.stream.RecvMsg(&s.decoder); err != nil {
				return list, err
			}
			continue
		}
		if err != nil {
			return list, err
		}
		v.Text = slices.Clone(v.Text)
		list = append(list, v)
	}
	return list, nil
}

// message is sent as it is.
type message []byte

// codec passes bytes on as they are, and the health service's messages as protobuf.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(message); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if d, ok := v.(*resp.Decoder); ok {
		d.Write(data.Materialize())
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
