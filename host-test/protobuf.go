package hosttest

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// clusterOf reads envoy.config.core.v3.GrpcService{envoy_grpc{cluster_name}}.
func clusterOf(service []byte) (string, error) {
	envoyGRPC, err := bytesField(service, 1)
	if err != nil {
		return "", err
	}
	name, err := bytesField(envoyGRPC, 1)
	return string(name), err
}

// bytesField returns the last field of that number, which must be bytes.
func bytesField(message []byte, number protowire.Number) (value []byte, err error) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return nil, protowire.ParseError(size)
		}
		if n == number && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message)
		}
		message = message[size:]
	}
	if value == nil {
		return nil, fmt.Errorf("the message has no field %d of bytes", number)
	}
	return value, nil
}
