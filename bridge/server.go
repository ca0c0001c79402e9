package bridge

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// Options say how a bridge works. All have to be set, but TLS.
type Options struct {
	Store    Store
	Prefixes []string      // of keys that are taken: "rl"
	Timeout  time.Duration // that Redis gets for a message; below the policy's redis.timeout
	TLS      *tls.Config   // for the module's side; nil: none

	MaxStreams  int           // at once, and twice as many connections
	MaxMessage  int           // bytes
	MaxCommands int           // that wait for Redis at once
	SendTimeout time.Duration // that a client gets to read replies
	DrainTime   time.Duration // that streams get to end
	Log         *slog.Logger
}

// Bridge is one process' worth of streams. Make it with New.
type Bridge struct {
	options  Options
	acceptor *Acceptor
	asker    *asker
	metrics  *metrics
	log      *slog.Logger
	lines    lines
	health   *health.Server
	ready    atomic.Bool
	draining chan struct{}
}

// New makes a bridge, which connects to Redis as soon as it serves.
func New(o Options) *Bridge {
	m := newMetrics()
	b := &Bridge{
		options: o, acceptor: NewAcceptor(o.Prefixes), metrics: m, log: o.Log, health: health.NewServer(), draining: make(chan struct{}),
		asker: &asker{redis: o.Store.open(o.Timeout), timeout: o.Timeout, metrics: m},
	}
	b.setReady(false)
	return b
}

// handshakeTime is what a connection gets to become one of HTTP/2.
const handshakeTime = 5 * time.Second

// Serve serves the module's streams on one listener, and health and metrics on another unless that is nil, until ctx ends.
// Then no stream is taken any more, each open one ends after the message that is being answered, and Serve returns. The
// listeners are closed.
func (b *Bridge) Serve(ctx context.Context, streams, admin net.Listener) error {
	defer b.asker.redis.Close()
	s := grpc.NewServer(b.serverOptions()...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: method, Handler: b.servePipe, ServerStreams: true, ClientStreams: true}},
	}, struct{}{})
	healthpb.RegisterHealthServer(s, b.health)

	watching, stop := context.WithCancel(ctx)
	defer stop()
	go b.watch(watching)
	failed := make(chan error, 2)
	if admin != nil {
		a := &http.Server{Handler: b.admin(), ReadHeaderTimeout: handshakeTime, IdleTimeout: time.Minute}
		defer a.Close()
		go func() { failed <- fmt.Errorf("the listener of health and metrics has ended: %w", a.Serve(admin)) }()
	}
	go func() { failed <- s.Serve(netutil.LimitListener(streams, 2*b.options.MaxStreams)) }()
	select {
	case err := <-failed:
		s.Stop()
		return err
	case <-ctx.Done():
	}
	b.drain(s)
	return nil
}

func (b *Bridge) serverOptions() []grpc.ServerOption {
	list := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(b.options.MaxMessage),
		grpc.MaxConcurrentStreams(uint32(b.options.MaxStreams)),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.ConnectionTimeout(handshakeTime),
		// A peer that has gone without a word is noticed, and Envoy may ask whether we are there.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if b.options.TLS != nil {
		list = append(list, grpc.Creds(credentials.NewTLS(b.options.TLS)))
	}
	return list
}

// drain ends all streams, and what does not end in time.
func (b *Bridge) drain(s *grpc.Server) {
	b.log.Info("ending: no stream is taken any more", "streams", b.metrics.streams.Load())
	b.setReady(false)
	b.health.Shutdown()
	late := time.AfterFunc(b.options.DrainTime, s.Stop)
	defer late.Stop()
	close(b.draining)
	s.GracefulStop() // says GOAWAY, and waits for the streams
}
