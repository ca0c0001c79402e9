package hosttest

import (
	"errors"
	"slices"
)

// Scripted is a Redis that a test plays. It reads the plugin's commands, asks
// Reply what to answer, and keeps the answers until the test delivers them: at
// once or late, whole or cut at any byte, or never. For anything else (replies
// out of order, too many, garbage) deliver bytes of your own with
// GRPCStream.Deliver.
type Scripted struct {
	// Reply returns the reply to a command, nil for none. Without it nothing
	// is answered.
	Reply func(command [][]byte) []byte
	// Refuse lets no stream be opened: the cluster has no host.
	Refuse bool
	// Frozen is a Redis that has been stopped: what is sent waits in Envoy,
	// which closes the connection at the 10,001st message that waits.
	Frozen bool

	links    []*scriptedLink
	commands [][][]byte
	err      error
}

// floodLimit is Envoy's max_outbound_frames.
const floodLimit = 10000

type scriptedLink struct {
	stream  *GRPCStream
	waiting [][]byte // messages that a frozen Redis has not read
	reader  commands
	replies []byte // not delivered yet
}

// Opened implements Backend.
func (r *Scripted) Opened(g *GRPCStream) bool {
	if r.Refuse {
		return false
	}
	r.links = append(r.links, &scriptedLink{stream: g})
	return true
}

// Sent implements Backend.
func (r *Scripted) Sent(g *GRPCStream, message []byte) {
	l := r.link(g)
	l.waiting = append(l.waiting, message)
	if !r.Frozen {
		r.read(l)
	}
	if len(l.waiting) > floodLimit {
		l.waiting = nil
		g.closeLater(grpcInternal, "connection_termination")
	}
}

// read takes the messages that wait and asks for the replies.
func (r *Scripted) read(l *scriptedLink) {
	for _, message := range l.waiting {
		list, err := l.reader.read(message)
		r.err = errors.Join(r.err, err)
		r.commands = append(r.commands, list...)
		for _, command := range list {
			if r.Reply != nil {
				l.replies = append(l.replies, r.Reply(command)...)
			}
		}
	}
	l.waiting = nil
}

// Ended implements Backend.
func (r *Scripted) Ended(g *GRPCStream, reset bool) {
	if reset {
		r.links = slices.DeleteFunc(r.links, func(l *scriptedLink) bool { return l.stream == g })
	}
}

// Streams returns the streams that are open, oldest first.
func (r *Scripted) Streams() []*GRPCStream {
	var open []*GRPCStream
	for _, l := range r.links {
		if l.stream.Open() {
			open = append(open, l.stream)
		}
	}
	return open
}

// Stream returns the newest open stream, nil if there is none.
func (r *Scripted) Stream() *GRPCStream {
	if open := r.Streams(); len(open) > 0 {
		return open[len(open)-1]
	}
	return nil
}

// Commands returns all commands received so far.
func (r *Scripted) Commands() [][][]byte { return r.commands }

// Err returns what was wrong with the bytes that the plugin sent, nil if
// nothing was.
func (r *Scripted) Err() error { return r.err }

// Pending returns how many bytes of replies have not been delivered yet.
func (r *Scripted) Pending() int {
	n := 0
	for _, l := range r.links {
		if l.stream.Open() {
			n += len(l.replies)
		}
	}
	return n
}

// Deliver hands over all replies that are there now, one message for each
// stream, and ends the streams that the plugin has half closed, whose replies
// are lost. It returns the number of bytes delivered. What the plugin asks in
// answer is for the next Deliver.
func (r *Scripted) Deliver() (int, error) {
	return r.deliver(func(l *scriptedLink) int { return len(l.replies) })
}

// DeliverBytes hands over the next n bytes of replies on each stream as one
// message.
func (r *Scripted) DeliverBytes(n int) (int, error) {
	return r.deliver(func(l *scriptedLink) int { return min(n, len(l.replies)) })
}

func (r *Scripted) deliver(size func(*scriptedLink) int) (delivered int, err error) {
	for _, l := range slices.Clone(r.links) {
		if !l.stream.Open() {
			continue
		}
		if l.stream.HalfClosed() {
			err = errors.Join(err, l.stream.CloseRemote(grpcUnknown, ""))
			continue
		}
		if !r.Frozen {
			r.read(l)
		}
		n := size(l)
		if r.Frozen || n == 0 {
			continue
		}
		b := l.replies[:n:n]
		l.replies = l.replies[n:]
		delivered += n
		err = errors.Join(err, l.stream.Deliver(b))
	}
	return delivered, err
}

// CloseAll ends every open stream from the far side with a gRPC status.
func (r *Scripted) CloseAll(status uint32, message string) error {
	var err error
	for _, g := range r.Streams() {
		err = errors.Join(err, g.CloseRemote(status, message))
	}
	return err
}

func (r *Scripted) link(g *GRPCStream) *scriptedLink {
	for _, l := range r.links {
		if l.stream == g {
			return l
		}
	}
	return &scriptedLink{stream: g}
}
