package hosttest

// The kinds of callouts, which are also the last two bits of a token.
const (
	tokenGRPCCall   = 1
	tokenGRPCStream = 2
	tokenMask       = 3
	tokenStep       = 4
)

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
		g.root.closing = append(g.root.closing, g)
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
