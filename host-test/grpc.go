package hosttest

import "errors"

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
