package bridge

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"routelimit/resp"
)

// pipe is one stream of the module.
type pipe struct {
	*Bridge
	stream  grpc.ServerStream
	decoder resp.Decoder

	turn chan struct{} // is held while a message is being answered, and by whoever ends the stream
	slow chan struct{} // closed when the client does not read
	size int           // of the last replies

	commands  []Command
	judgement []Refusal
}

// servePipe serves one stream until its client ends it, the bridge is told to end, or it breaks a rule.
func (b *Bridge) servePipe(_ any, stream grpc.ServerStream) error {
	if n := b.metrics.streams.Add(1); n > int64(b.options.MaxStreams) {
		b.metrics.streams.Add(-1)
		return b.ended(endTooMany, status.Errorf(codes.ResourceExhausted, "%d streams are open, and no more are taken; raise --max-streams", n-1))
	}
	defer b.metrics.streams.Add(-1)
	p := &pipe{Bridge: b, stream: stream, turn: make(chan struct{}, 1), slow: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- p.run() }()
	select {
	case err := <-done:
		return p.finished(err)
	case <-p.slow:
		return p.endSlow()
	case <-b.draining:
	}
	// What is being answered is answered first.
	select {
	case p.turn <- struct{}{}:
		return b.ended(endDrained, status.Error(codes.Unavailable, "the bridge is ending; open the stream again"))
	case err := <-done:
		return p.finished(err)
	case <-p.slow:
		return p.endSlow()
	}
}

func (p *pipe) endSlow() error {
	return p.ended(endSlow, status.Errorf(codes.ResourceExhausted, "the client took no replies for %v", p.options.SendTimeout))
}

// errPanicked is what a stream ends with after a fault of the bridge.
var errPanicked = errors.New("the bridge failed; its log has more")

// run answers messages until the stream ends. It holds the turn from a message's arrival until its replies are sent.
func (p *pipe) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("a fault of the bridge; please report it", "panic", v, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	timer := time.AfterFunc(p.options.SendTimeout, func() { close(p.slow) })
	timer.Stop()
	for {
		if err := p.stream.RecvMsg(&p.decoder); err != nil {
			return err
		}
		select {
		case p.turn <- struct{}{}:
		case <-p.stream.Context().Done(): // the turn is taken for good
			return p.stream.Context().Err()
		}
		answer, err := p.answer()
		if err != nil {
			return err
		}
		if len(answer) > 0 {
			p.size = len(answer)
			timer.Reset(p.options.SendTimeout)
			if err := p.stream.SendMsg(answer); err != nil {
				return err
			}
			if !timer.Stop() {
				return status.FromContextError(p.stream.Context().Err()).Err() // the stream is being ended
			}
		}
		<-p.turn
	}
}

// finished says how the stream has ended, for its client and for metrics.
func (p *pipe) finished(err error) error {
	var broken *resp.ProtocolError
	switch {
	case err == io.EOF:
		return p.ended(endClient, nil)
	case errors.As(err, &broken), errors.Is(err, errNoCommand):
		p.warn("malformed", "a stream is ended: "+err.Error())
		return p.ended(endMalformed, status.Error(codes.InvalidArgument, err.Error()))
	case errors.Is(err, errPanicked):
		return p.ended(endPanic, status.Error(codes.Internal, err.Error()))
	case status.Code(err) == codes.ResourceExhausted:
		p.warn("large", fmt.Sprintf("a stream is ended: a message has more than %d bytes; raise --max-message", p.options.MaxMessage))
		return p.ended(endTooLarge, err)
	}
	return p.ended(endClient, err) // reset, or its connection is gone
}

func (b *Bridge) ended(how end, err error) error {
	b.metrics.ends[how].Add(1)
	return err
}

// keptCommands is how much room for commands a stream keeps: a burst's memory is given back.
const keptCommands = 4096

// answer answers all whole commands that have come: the ones accepted in one go, and each in its place.
func (p *pipe) answer() (replies, error) {
	if cap(p.judgement) > keptCommands {
		p.commands, p.judgement = nil, nil
	}
	clear(p.commands)
	p.commands, p.judgement = p.commands[:0], p.judgement[:0]
	for {
		v, err := p.decoder.Next()
		if err == resp.ErrShort {
			break
		}
		if err != nil {
			return nil, err
		}
		c, refusal, err := p.acceptor.Judge(v)
		if err != nil {
			return nil, err
		}
		if refusal == Accepted {
			p.commands = append(p.commands, c)
		}
		p.judgement = append(p.judgement, refusal)
	}
	if len(p.judgement) == 0 {
		return nil, nil
	}
	return p.write(p.forward()), nil
}

// forward asks Redis; nil if too much is under way already.
func (p *pipe) forward() []*redis.Cmd {
	n := int64(len(p.commands))
	if n == 0 {
		return nil
	}
	defer p.metrics.inFlight.Add(-n)
	if p.metrics.inFlight.Add(n) > int64(p.options.MaxCommands) {
		p.warn("overload", fmt.Sprintf("more than %d commands wait for Redis, and more are refused; Redis does not keep up", p.options.MaxCommands))
		return nil
	}
	return p.asker.ask(p.commands)
}

// overloaded is told for commands above the bound; the module counts it as "busy".
const overloaded = "BUSY too many commands wait for Redis at the bridge; raise --max-commands, or give Redis more"

// write writes one reply for each command that came.
func (p *pipe) write(answers []*redis.Cmd) replies {
	out := make(replies, 0, p.size+p.size/4)
	next := 0
	for _, refusal := range p.judgement {
		switch {
		case refusal != Accepted:
			p.metrics.refused[refusal].Add(1)
			p.warn(refusal.String(), "a command is refused: "+refusals[refusal].text)
			out = appendError(out, refusals[refusal].text)
		case answers == nil:
			p.metrics.overload.Add(1)
			out = appendError(out, overloaded)
		default:
			out = p.asker.appendReply(out, answers[next])
			next++
		}
	}
	return out
}
