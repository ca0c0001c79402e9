//go:build wasip1

package main

import (
	"encoding/binary"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"routelimit/policy/strictjson"
	"routelimit/shim"
)

// isGateway says whether a configuration is that of the gateway role: the role
// and nothing else, so that no policy is left unread beside it.
func isGateway(raw []byte) bool {
	root := strictjson.Parse(raw).Root()
	if root == nil || len(root.Children()) != 1 || root.Member("role") == nil {
		return false
	}
	role, ok := root.Member("role").Text()
	return ok && role == "gateway"
}

// grpcHead is the size of what stands before each gRPC message: one byte that
// says whether it is compressed, and its size in four.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
const grpcHead = 5

// gatewayStream turns one gRPC stream into the bytes that its messages carry,
// and the bytes that come back into messages. Its route turns the rest of it
// into a TCP connection (CONNECT, allow_post).
type gatewayStream struct {
	types.DefaultHttpContext
	head    []byte // of a message, as far as it came
	left    int    // bytes of the message that are still to come
	payload []byte
}

func (g *gatewayStream) OnHttpRequestBody(size int, _ bool) types.Action {
	if size == 0 {
		return shim.Continue
	}
	in := shim.RequestBody(size)
	g.payload = g.payload[:0]
	for len(in) > 0 {
		if g.left == 0 {
			n := min(grpcHead-len(g.head), len(in))
			g.head, in = append(g.head, in[:n]...), in[n:]
			if len(g.head) < grpcHead {
				break
			}
			g.left = int(binary.BigEndian.Uint32(g.head[1:]))
			g.head = g.head[:0]
			continue
		}
		n := min(g.left, len(in))
		g.payload, in, g.left = append(g.payload, in[:n]...), in[n:], g.left-n
	}
	shim.ReplaceRequestBody(g.payload)
	return shim.Continue
}

// OnHttpResponseHeaders makes the answer of the TCP connection one of gRPC.
func (g *gatewayStream) OnHttpResponseHeaders(int, bool) types.Action {
	shim.ReplaceResponseHeader("content-type", "application/grpc")
	return shim.Continue
}

func (g *gatewayStream) OnHttpResponseBody(size int, _ bool) types.Action {
	if size > 0 {
		var head [grpcHead]byte
		binary.BigEndian.PutUint32(head[1:], uint32(size))
		shim.PrependResponseBody(head[:])
	}
	return shim.Continue
}
