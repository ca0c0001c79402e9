//go:build wasip1

package shim

import (
	"encoding/binary"
	"unsafe"
)

// OpenStream opens a gRPC stream to a cluster of the proxy. The stream belongs
// to the plugin context. An open token is not yet a working link; false means
// that the cluster is unknown or has no usable host.
func OpenStream(cluster, service, method string) (token uint32, ok bool) {
	definition := grpcService(cluster)
	noMetadata := AppendPairs(nil, nil)
	status := proxyGrpcStream(bytes(definition), int32(len(definition)), str(service), int32(len(service)),
		str(method), int32(len(method)), bytes(noMetadata), int32(len(noMetadata)), unsafe.Pointer(&token))
	return token, status == statusOK
}

// grpcService encodes envoy.config.core.v3.GrpcService{envoy_grpc: {cluster_name: cluster}}.
func grpcService(cluster string) []byte {
	return appendMessage(nil, string(appendMessage(nil, cluster)))
}

// appendMessage appends a protobuf message's field 1, a text or a message.
func appendMessage(dst []byte, value string) []byte {
	const tag = 1<<3 | 2
	return append(binary.AppendUvarint(append(dst, tag), uint64(len(value))), value...)
}

// SendMessage sends b as one message. It reports false where the guest has
// closed or cancelled the token; it reports true for a stream that the other
// end has closed, and the bytes are lost.
func SendMessage(token uint32, b []byte) bool {
	return proxyGrpcSend(token, bytes(b), int32(len(b)), 0) == statusOK
}

// Received returns the message that OnReceive has announced.
func Received(size int) []byte { return buffer(bufferGRPCReceive, 0, size) }

// CloseStream ends the guest's half of a stream. Inside OnClose it frees the token.
func CloseStream(token uint32) { proxyGrpcClose(token) }

// CancelStream resets a stream. No OnClose follows.
func CancelStream(token uint32) { proxyGrpcCancel(token) }

// StreamStatus returns the gRPC status and text of the stream that OnClose
// reports as closed. It is valid inside OnClose only.
func StreamStatus() (code uint32, text string) {
	status := proxyGetStatus(unsafe.Pointer(&code), answer.data(), answer.size())
	return code, string(answer.bytes(status))
}
