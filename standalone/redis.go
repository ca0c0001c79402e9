package standalone

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	hosttest "routelimit/host-test"
	"routelimit/resp"
)

// link is the far end of one stream of the module's to Redis. It does what Envoy's redis_proxy does: it finds the node,
// follows redirections, and answers "upstream failure" where a node does not. Commands are answered in their order.
type link struct {
	worker *worker
	stream *hosttest.GRPCStream
	reader resp.Decoder
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	waiting [][]any // commands
	ready   chan struct{}
}

// Opened implements hosttest.Backend.
func (w *worker) Opened(g *hosttest.GRPCStream) bool {
	l := &link{worker: w, stream: g, ready: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	w.links[g] = l
	go l.run()
	return true
}

// Sent implements hosttest.Backend.
func (w *worker) Sent(g *hosttest.GRPCStream, message []byte) {
	l := w.links[g]
	if l == nil {
		return
	}
	l.reader.Write(message)
	for {
		command, err := l.reader.Next()
		if errors.Is(err, resp.ErrShort) {
			break
		}
		if err != nil {
			l.close()
			break
		}
		words := make([]any, len(command.Elems))
		for i, word := range command.Elems {
			words[i] = string(word.Text)
		}
		l.add(words)
	}
}

// Ended implements hosttest.Backend.
func (w *worker) Ended(g *hosttest.GRPCStream, reset bool) {
	if l := w.links[g]; l != nil && reset {
		l.close()
		delete(w.links, g)
	}
}

func (l *link) close() { l.cancel() }

func (l *link) add(command []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, command)
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

func (l *link) take() [][]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.waiting
	l.waiting = nil
	return list
}

// run asks Redis whatever waits, in one go, and hands the answers over.
func (l *link) run() {
	for {
		select {
		case <-l.ready:
		case <-l.ctx.Done():
			return
		}
		if commands := l.take(); len(commands) > 0 {
			replies := l.ask(commands)
			if l.worker.do(func() { l.deliver(replies) }) != nil {
				return
			}
		}
	}
}

func (l *link) deliver(replies []byte) {
	if l.stream.Open() {
		_ = l.stream.Deliver(replies) // it fails on a stream that has ended
	}
}

// once is a command that go-redis sends no second time, whatever happens to its connection: it may have been counted.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func (l *link) ask(commands [][]any) (replies []byte) {
	o := &l.worker.server.options
	ctx, cancel := context.WithTimeout(l.ctx, o.Patience)
	defer cancel()
	sent := make([]*redis.Cmd, len(commands))
	// What failed is in each command.
	_, _ = o.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, command := range commands {
			sent[i] = redis.NewCmd(ctx, command...)
			_ = pipe.Process(ctx, once{sent[i]}) // it only queues
		}
		return nil
	})
	for _, command := range sent {
		replies = appendReply(replies, command)
	}
	return replies
}

// appendReply writes a reply as Redis would.
func appendReply(to []byte, command *redis.Cmd) []byte {
	reply, err := command.Result()
	var refused redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return append(to, "$-1\r\n"...)
	case errors.As(err, &refused):
		return append(append(append(to, '-'), oneLine.Replace(refused.Error())...), "\r\n"...)
	case err != nil:
		return append(to, "-upstream failure\r\n"...)
	}
	return appendValue(to, reply)
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func appendValue(to []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return append(strconv.AppendInt(append(to, ':'), v, 10), "\r\n"...)
	case string:
		return resp.AppendBulk(to, v)
	case []any:
		to = resp.AppendArray(to, len(v))
		for _, element := range v {
			to = appendValue(to, element)
		}
		return to
	}
	return append(to, "$-1\r\n"...)
}
