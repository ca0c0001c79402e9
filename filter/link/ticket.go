package link

import (
	"time"

	"routelimit/resp"
)

// Failure says why a command got no reply.
type Failure uint8

const (
	// None: the link can be asked.
	None Failure = iota
	// Timeout: no reply within the deadline. The command may have been carried out.
	Timeout
	// Disconnected: the stream is closed, or closed with the command on it, which
	// may have been carried out.
	Disconnected
	// BadReply: the replies on the stream cannot be told apart any more, or the
	// one to this command makes no sense.
	BadReply
	// Overload: too many commands wait already.
	Overload
	// BreakerOpen: the link has failed too often, and is not asked for a while.
	BreakerOpen
	// Rejected: the stream's greeting was refused, so nothing was sent.
	Rejected
	// Panicked: the program failed while it handled replies.
	Panicked
)

var failureNames = [...]string{"none", "timeout", "disconnected", "bad_reply", "overload", "breaker_open", "auth", "panic"}

// String returns the failure as it stands in metrics and log lines.
func (f Failure) String() string { return failureNames[f] }

// Waiter is who asks. For each command it gets one call of Answer or Fail, then
// for the question one call of Resume, and for commands that failed by Timeout
// perhaps one of Late.
type Waiter interface {
	// Answer takes the reply to command i, an error reply too. The reply is valid
	// during the call. An error says that the reply cannot be one to this command;
	// the stream is then given up.
	Answer(i int, reply resp.Value) error
	// Fail says that command i gets no reply.
	Fail(i int, why Failure)
	// Resume is called when nothing is awaited any more.
	Resume()
	// Late takes the reply to a command that had failed by Timeout.
	Late(i int, reply resp.Value)
}

// MaxCommands is how many commands one question may have.
const MaxCommands = 64

// Ticket is one waiter's place. It is part of the waiter, so that asking
// allocates nothing; it must not be copied or used again.
type Ticket struct {
	waiter   Waiter
	deadline time.Duration
	awaited  uint64 // a bit for each command neither answered nor failed
	placed   bool   // it stands, or stood, in the order of deadlines
	held     bool   // it stays there without awaiting anything: a second question may come
	expired  bool   // by Timeout; replies that still come are late
	gone     bool   // the waiter has left
}

// Expired says that the deadline ended the question before all replies were in,
// so that Late may still be called.
func (t *Ticket) Expired() bool { return t.expired }

// unwanted says that a reply would change nothing.
func (t *Ticket) unwanted() bool { return t.gone || t.expired }

// slot is the place of one command in the order of the commands.
type slot struct {
	ticket *Ticket
	index  int // which of the ticket's commands
	batch  *batch
	start  int // of the command in the batch
	end    int
	resent bool
	// greeting: it begins the stream, and has no ticket.
	greeting bool
}

func (s *slot) command() []byte { return s.batch.bytes[s.start:s.end] }

// batch is the bytes of one message; its slots refer to them until answered.
type batch struct {
	bytes []byte
	open  int // slots not answered
}
