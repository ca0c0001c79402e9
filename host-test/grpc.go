package hosttest

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Backend is the far end of the gRPC streams to one cluster.
//
// Its methods are called from inside a hostcall, so none of them may enter the
// VM: what comes back is handed over later, by GRPCStream.Deliver and
// CloseRemote.
type Backend interface {
	// Opened tells of a new stream. False: the cluster has no usable host, and
	// the plugin's call fails as it does for an unknown cluster.
	Opened(g *GRPCStream) bool
	// Sent brings one message of the plugin's; it belongs to the backend.
	Sent(g *GRPCStream, message []byte)
	// Ended tells that the plugin will send no more: it half closed the stream,
	// or, with reset, dropped it, and then nothing can be delivered either.
	Ended(g *GRPCStream, reset bool)
}

// The kinds of callouts, which are also the last two bits of a token.
const (
	tokenGRPCCall   = 1
	tokenGRPCStream = 2
	tokenMask       = 3
	tokenStep       = 4
)

// GRPCStream is a stream that the plugin has opened with proxy_grpc_stream. It
// belongs to the root that opened it, not to the request that did.
type GRPCStream struct {
	root    *root
	backend Backend
	token   uint32

	// What the plugin asked for.
	Cluster, Service, Method string

	messages     int
	bytes        int
	begun        bool // the initial metadata has been delivered
	localClosed  bool
	remoteClosed bool
	dropped      bool
}

// Token returns what the plugin knows the stream by.
func (g *GRPCStream) Token() uint32 { return g.token }

// Plugin returns the root that opened the stream.
func (g *GRPCStream) Plugin() *Plugin { return g.root.plugin }

// Messages returns how many messages the plugin has sent, and Bytes how many
// bytes they had. A message after the end of the stream vanishes uncounted.
func (g *GRPCStream) Messages() int { return g.messages }

// Bytes returns how many bytes the plugin has sent.
func (g *GRPCStream) Bytes() int { return g.bytes }

// Open says that bytes can still be delivered.
func (g *GRPCStream) Open() bool { return !g.remoteClosed && !g.dropped }

// HalfClosed says that the plugin has closed its side with proxy_grpc_close.
func (g *GRPCStream) HalfClosed() bool { return g.localClosed }

// ErrStreamClosed is what Deliver and CloseRemote return once the stream has
// ended on either side.
var ErrStreamClosed = errors.New("the gRPC stream has ended")

// errInsideCall: the plugin is never entered while it runs.
var errInsideCall = errors.New("called from inside a hostcall; deliver after the call has returned")

// Deliver hands bytes to the plugin as one message: on_grpc_receive.
func (g *GRPCStream) Deliver(b []byte) error {
	if err := g.deliverable(); err != nil {
		return err
	}
	r, id := g.root, g.root.context.id
	g.begin()
	r.received = b
	r.in.callback(id, "proxy_on_grpc_receive", uint64(g.token), uint64(len(b)))
	r.received = nil
	return nil
}

// begin delivers the response headers, which come before the first message.
func (g *GRPCStream) begin() {
	if g.begun {
		return
	}
	g.begun = true
	r := g.root
	r.initialMetadata = Headers{{":status", "200"}, {"content-type", "application/grpc"}}
	r.in.callback(r.context.id, "proxy_on_grpc_receive_initial_metadata", uint64(g.token), uint64(len(r.initialMetadata)))
	r.initialMetadata = nil
}

// CloseRemote ends the stream from the far side with a gRPC status:
// 2 where the peer closed its connection in order, 13 where it was reset,
// 14 where no connection came about. on_grpc_close tells the plugin.
func (g *GRPCStream) CloseRemote(status uint32, message string) error {
	if err := g.deliverable(); err != nil {
		return err
	}
	if status == grpcUnknown {
		g.begin()
		g.root.in.callback(g.root.context.id, "proxy_on_grpc_receive_trailing_metadata", uint64(g.token), 0)
	}
	if g.dropped { // the plugin gave it up meanwhile
		return nil
	}
	g.remoteClosed = true
	g.root.tellClose(g.token, status, message)
	return nil
}

// closeLater is CloseRemote from inside a hostcall: Envoy tells the plugin once
// the call into the VM has returned.
func (g *GRPCStream) closeLater(status uint32, message string) {
	in := g.root.in
	in.after = append(in.after, func() {
		if g.Open() {
			g.remoteClosed = true
			g.root.tellClose(g.token, status, message)
		}
	})
}

func (g *GRPCStream) deliverable() error {
	switch {
	case !g.Open():
		return ErrStreamClosed
	case g.root.in.running:
		return errInsideCall
	}
	return nil
}

func (r *root) tellClose(token, status uint32, message string) {
	r.statusCode, r.statusMessage = status, message
	r.in.callback(r.context.id, "proxy_on_grpc_close", uint64(token), uint64(status))
	r.statusMessage = ""
}

// hostcalls

func (in *instance) grpcStream(args []uint64) uint32 {
	g := &GRPCStream{root: in.context().root}
	service, ok := in.read(args[0], args[1])
	name, nameOK := in.read(args[2], args[3])
	method, methodOK := in.read(args[4], args[5])
	if _, metadataOK := in.read(args[6], args[7]); !ok || !nameOK || !methodOK || !metadataOK {
		return resultInvalidMemoryAccess
	}
	cluster, err := clusterOf(service)
	if err != nil || g.root == nil {
		return resultParseFailure
	}
	in.lastStream += tokenStep
	g.token, g.Cluster, g.Service, g.Method = in.lastStream, cluster, string(name), string(method)
	g.backend = in.vm.host.options.Clusters[cluster]
	switch {
	case g.backend == nil:
		return in.noHost(g.root, g.token, "Cluster not available")
	case !g.backend.Opened(g):
		return in.noHost(g.root, g.token, "no healthy upstream")
	}
	g.root.links[g.token] = g
	if !in.writeUint32(args[8], g.token) {
		return resultInvalidMemoryAccess
	}
	return resultOK
}

// noHost is what Envoy does where it finds no host: the call fails, and the
// close of a stream that the plugin was never told of follows.
func (in *instance) noHost(r *root, token uint32, why string) uint32 {
	in.after = append(in.after, func() { r.tellClose(token, grpcUnavailable, why) })
	return resultInternalFailure
}

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

// link finds a stream of the root whose context calls, if the token is of one.
func (in *instance) link(token uint64) (g *GRPCStream, result uint32) {
	if token&tokenMask != tokenGRPCStream {
		return nil, resultBadArgument
	}
	r := in.context().root
	if r == nil || r.links[uint32(token)] == nil {
		return nil, resultNotFound
	}
	return r.links[uint32(token)], resultOK
}

// grpcSend never fails on a stream that the plugin has not closed: what is sent
// after the far end closed vanishes.
func (in *instance) grpcSend(args []uint64) uint32 {
	message, ok := in.read(args[1], args[2])
	if !ok {
		return resultInvalidMemoryAccess
	}
	g, result := in.link(args[0])
	if g == nil || g.remoteClosed || g.localClosed {
		return result
	}
	g.messages++
	g.bytes += len(message)
	g.backend.Sent(g, message)
	if args[3] != 0 {
		g.localClosed = true
		g.backend.Ended(g, false)
	}
	return resultOK
}

// grpcClose half closes a live stream, of which on_grpc_close will tell, and
// lets go of one that the far end has closed.
func (in *instance) grpcClose(args []uint64) uint32 {
	g, result := in.link(args[0])
	if g == nil {
		return result
	}
	delete(g.root.links, g.token)
	if !g.remoteClosed && !g.localClosed {
		g.localClosed = true
		g.backend.Ended(g, false)
	}
	return resultOK
}

// grpcCancel resets a stream. No callback follows.
func (in *instance) grpcCancel(args []uint64) uint32 {
	g, result := in.link(args[0])
	if g == nil {
		return result
	}
	delete(g.root.links, g.token)
	g.dropped = true
	g.backend.Ended(g, true)
	return resultOK
}

// grpcCall finds no host: nothing here serves unary calls.
func (in *instance) grpcCall([]uint64) uint32 {
	r := in.context().root
	if r == nil {
		return resultParseFailure
	}
	in.lastCall += tokenStep
	return in.noHost(r, in.lastCall, "Cluster not available")
}

// httpCall finds no cluster: nothing here serves HTTP callouts.
func (in *instance) httpCall([]uint64) uint32 { return resultBadArgument }

func (in *instance) getStatus(args []uint64) uint32 {
	r := in.context().root
	if r == nil {
		return resultBadArgument
	}
	if !in.writeUint32(args[0], r.statusCode) {
		return resultInvalidMemoryAccess
	}
	return in.give([]byte(r.statusMessage), args[1], args[2])
}
