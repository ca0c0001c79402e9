package hosttest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"routelimit/resp"
)

// Redis is a Backend that is a real Redis, reached over TCP. Each stream is a
// connection. What Redis answers reaches the plugin when Deliver is called.
type Redis struct {
	address string
	clock   *Clock // nil: commands go out as they are
	links   map[*GRPCStream]*redisLink
	events  chan redisEvent
	closed  chan struct{}
	err     error
}

// redisEvent is something that happened on a connection.
type redisEvent struct {
	link   *redisLink
	bytes  []byte
	status uint32 // of the end, where bytes is nil
	cause  error
}

// redisLink is one stream and its connection.
type redisLink struct {
	stream      *GRPCStream
	connection  *connection
	commands    commands
	replies     resp.Decoder
	outstanding int // commands whose replies have not been delivered yet
}

// RedisOptions says how a Redis is spoken to.
type RedisOptions struct {
	// VirtualTime puts this clock's time into the plugin's commands, in the
	// place where it sends 0 for Redis' own time. Scripts then count by the
	// test's clock.
	VirtualTime *Clock
}

// NewRedis returns the Redis at a TCP address. Nothing is connected before the
// plugin opens a stream; where that fails, the stream ends with status 14.
func NewRedis(address string, o RedisOptions) *Redis {
	return &Redis{
		address: address,
		clock:   o.VirtualTime,
		links:   map[*GRPCStream]*redisLink{},
		events:  make(chan redisEvent),
		closed:  make(chan struct{}),
	}
}

// Close ends all connections. The plugin is not told.
func (r *Redis) Close() {
	close(r.closed)
	for _, l := range r.links {
		l.connection.close()
	}
	clear(r.links)
}

// Opened implements Backend.
func (r *Redis) Opened(g *GRPCStream) bool {
	l := &redisLink{stream: g}
	r.links[g] = l
	l.connection = dial(r.address, func(b []byte, err error) bool { return r.happened(l, b, err) })
	return true
}

// happened passes on what a connection has read or how it ended, from the
// connection's own goroutine. False: nobody listens any more.
func (r *Redis) happened(l *redisLink, b []byte, err error) bool {
	e := redisEvent{link: l, bytes: b}
	if err != nil {
		e.status, e.cause = statusOf(err), err
	}
	select {
	case r.events <- e:
		return true
	case <-r.closed:
		return false
	}
}

// statusOf returns the gRPC status that Envoy's gateway ends the stream with.
func statusOf(err error) uint32 {
	switch {
	case errors.Is(err, errNotConnected):
		return grpcUnavailable
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return grpcUnknown
	}
	return grpcInternal
}

// Sent implements Backend.
func (r *Redis) Sent(g *GRPCStream, message []byte) {
	l := r.links[g]
	if l == nil {
		return
	}
	list, err := l.commands.read(message)
	r.err = errors.Join(r.err, err)
	var out []byte
	for _, command := range list {
		if r.clock != nil {
			putTime(command, r.clock.Now())
		}
		out = appendCommand(out, command)
	}
	l.outstanding += len(list)
	l.connection.send(out)
}

// Ended implements Backend.
func (r *Redis) Ended(g *GRPCStream, reset bool) {
	l := r.links[g]
	if l == nil {
		return
	}
	l.connection.close()
	if reset {
		delete(r.links, g)
	}
}

// Err returns what was wrong with the bytes that the plugin or Redis sent, nil
// if nothing was.
func (r *Redis) Err() error { return r.err }

// Outstanding returns how many commands have no reply delivered yet, on the
// streams that are open.
func (r *Redis) Outstanding() int {
	n := 0
	for g, l := range r.links {
		if g.Open() {
			n += l.outstanding
		}
	}
	return n
}

// Deliver waits for the next bytes from Redis, or the end of a connection, and
// hands them to the plugin. It gives up after the time given, by the wall
// clock, with an error.
func (r *Redis) Deliver(wait time.Duration) error {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		select {
		case e := <-r.events:
			if e.link.stream.Open() {
				return r.deliver(e)
			}
		case <-timeout.C:
			return fmt.Errorf("redis at %s sent nothing within %s; %d commands have no reply", r.address, wait, r.Outstanding())
		}
	}
}

// DeliverAll delivers until every command has its reply, also those that the
// plugin sends in answer to one. The time bounds each wait.
func (r *Redis) DeliverAll(wait time.Duration) error {
	for r.Outstanding() > 0 {
		if err := r.Deliver(wait); err != nil {
			return err
		}
	}
	return r.err
}

func (r *Redis) deliver(e redisEvent) error {
	l := e.link
	if e.bytes == nil {
		delete(r.links, l.stream)
		l.connection.close()
		return l.stream.CloseRemote(e.status, e.cause.Error())
	}
	l.count(e.bytes, &r.err)
	return l.stream.Deliver(e.bytes)
}

// count takes the replies in b off the outstanding ones.
func (l *redisLink) count(b []byte, problem *error) {
	l.replies.Write(b)
	for {
		_, err := l.replies.Next()
		switch {
		case err == nil:
			l.outstanding--
		case errors.Is(err, resp.ErrShort):
			return
		default:
			*problem = errors.Join(*problem, fmt.Errorf("redis sent what is no reply: %w", err))
			l.outstanding = 0
			return
		}
	}
}
