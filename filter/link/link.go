package link

import (
	"time"

	"routelimit/resp"
)

// Host is what the link needs of the proxy.
type Host interface {
	// Open opens the stream. False: there is no way to it at the moment.
	Open() (token uint32, ok bool)
	// Send sends one message; that it was sent is not known.
	Send(token uint32, message []byte)
	// Close ends our half of a stream: what was sent still arrives.
	Close(token uint32)
	// Cancel gives up a stream. The host does not call back. It also frees one that
	// the other end has closed.
	Cancel(token uint32)
	// Now is the time passed since some moment, on a clock that only goes forward.
	Now() time.Duration
}

// Bounds of what one link holds.
const (
	// MaxQueued is how many commands may wait to be sent. More than a worker can
	// have asked within a deadline means that Redis is not keeping up.
	MaxQueued = 16384
	// MaxResumes is how many requests are let go in one callback. The proxy runs
	// what follows of each of them nested in the others; at some 270 the VM's
	// stack overflows and the VM dies.
	MaxResumes = 64

	// maxFlight is how many messages may be on their way at once.
	maxFlight = 1
	// A stream on which nothing came for stallFactor deadlines is given up. Until
	// then replies that come late can still be set right.
	stallFactor = 5

	minBackoff = 2 * time.Millisecond
	// DefaultMaxDelay is the longest back-off, unless MaxDelay says another.
	DefaultMaxDelay = time.Second

	tickIdle    = 0
	tickWaiting = 5 // ms; how exact deadlines are
	tickReady   = 1 // ms; until the next MaxResumes requests
)

// Link asks Redis for one plugin context. Make it with New.
type Link struct {
	host    Host
	timeout time.Duration
	full    func(dst, command []byte) []byte

	// BreakAfter is how many failures of the link in a row end the asking; 0: none.
	BreakAfter int
	// MaxDelay bounds the back-off before the stream is opened again, or Redis
	// asked again after the asking ended.
	MaxDelay time.Duration
	// Broke, if set, is told when the asking ends and when it begins again. It may
	// call nothing of the link.
	Broke func(broken bool)

	// Greeting, if set, appends the commands that begin each stream, and says how
	// many they are. Nothing else is sent before each of them is answered with OK.
	Greeting func(dst []byte) (greeting []byte, commands int)
	// Rejected, if set, is told which command of a greeting, from 0, got which
	// other reply. It may call nothing of the link.
	Rejected func(command int, reply resp.Value)

	// Sent, if set, is told how many commands each message carries.
	Sent func(commands int)
	// Resent, if set, is called for each command sent again with its script.
	Resent func()

	now      time.Duration // when the last call from outside began
	token    uint32
	open     bool
	ended    uint32        // a stream that the other end closed, not freed yet; 0: none
	messages int           // sent and not answered whole
	heardAt  time.Duration // the last reply, or the message that awaits the next
	decoder  resp.Decoder
	backoff  backoff
	breaker  breaker
	renewal  renewal
	rejected bool // the last stream, by its greeting

	queue   fifo[slot] // not sent
	filling *batch     // the bytes of queue
	dropped bool       // some of queue are not to be sent
	flight  fifo[slot] // sent, in order
	spare   []*batch

	waiting fifo[*Ticket] // by deadline
	ready   fifo[*Ticket] // to be resumed
}

// New returns a link that gives a reply timeout to come. full appends the form
// of a command that carries its whole script. New opens no stream: that waits
// until somebody asks.
func New(host Host, timeout time.Duration, full func(dst, command []byte) []byte) *Link {
	return &Link{host: host, timeout: timeout, full: full, filling: &batch{}, MaxDelay: DefaultMaxDelay}
}

// Begin starts a question of w, or says why the link cannot be asked now. The
// deadline counts from here.
func (l *Link) Begin(t *Ticket, w Waiter) Failure {
	l.now = l.host.Now()
	l.connect()
	if f := l.refuses(); f != None {
		return f
	}
	*t = Ticket{waiter: w, deadline: l.now + l.timeout}
	return None
}

// Add adds command i to the question, each once; appendCommand appends it to its
// argument. Those from MaxCommands on fail at once.
func (l *Link) Add(t *Ticket, i int, appendCommand func([]byte) []byte) {
	if i >= MaxCommands {
		t.waiter.Fail(i, Overload)
		return
	}
	l.enqueue(slot{ticket: t, index: i}, appendCommand)
	t.awaited |= 1 << i
}

// Commit ends the question.
func (l *Link) Commit(t *Ticket) {
	if t.awaited == 0 {
		l.ready.push(t) // nothing was asked, so nothing will come
		return
	}
	if !t.placed {
		t.placed = true
		l.waiting.push(t)
		l.flush()
	} else if l.open {
		l.flush() // else the next Tick opens the stream, as for Tell
	}
}

// Hold says, before Commit, that the waiter may ask more when the replies are in.
// It then calls Again or Leave in Resume.
func (l *Link) Hold(t *Ticket) { t.held = true }

// Again starts a second question with other commands, within the deadline of the
// first, or says why the link cannot be asked now. The waiter gets the same calls
// for it.
func (l *Link) Again(t *Ticket) Failure {
	l.now = l.host.Now()
	if !t.held || t.deadline <= l.now {
		return Timeout
	}
	t.held = false
	return l.refuses()
}

// Tell sends a command that has no deadline. w hears of its reply, or that it is
// lost, since the stream is. Tell opens no stream, as it may be called while one
// is being closed: then the command waits for the next Tick.
func (l *Link) Tell(w Waiter, appendCommand func([]byte) []byte) Failure {
	l.now = l.host.Now()
	if f := l.refuses(); f != None {
		return f
	}
	l.Add(&Ticket{waiter: w}, 0, appendCommand)
	if l.open {
		l.flush()
	}
	return None
}

// Enclose adds a command without a deadline to the message that is being made up: it
// costs none of its own where a question, or a Tell, follows at once.
func (l *Link) Enclose(w Waiter, appendCommand func([]byte) []byte) {
	l.Add(&Ticket{waiter: w}, 0, appendCommand)
}

// Healthy says that the stream is open, and Redis has not stopped to answer on it as
// far as is known.
func (l *Link) Healthy() bool { return l.open && !l.breaker.open && l.queue.len() < MaxQueued }

// refuses says why no command can be taken now, None if one can.
func (l *Link) refuses() Failure {
	switch {
	case l.breaker.open && !l.mayProbe():
		return BreakerOpen
	case !l.open && l.backoff.until > l.now+l.timeout:
		return l.unconnected()
	case l.queue.len() >= MaxQueued:
		return Overload
	}
	return None
}

// Asked is when the question began.
func (l *Link) Asked(t *Ticket) time.Duration { return t.deadline - l.timeout }

// Waited is how long t had been waiting when the present call of the link began.
func (l *Link) Waited(t *Ticket) time.Duration {
	return max(l.now-l.Asked(t), 0)
}

// Leave says that the waiter of t has gone: it gets no further call, but of Late
// where the deadline has passed already. What was not sent yet is not sent.
func (l *Link) Leave(t *Ticket) {
	t.gone = true
	l.dropped = l.dropped || t.awaited != 0
}

func (l *Link) enqueue(s slot, appendCommand func([]byte) []byte) {
	b := l.filling
	s.batch, s.start = b, len(b.bytes)
	b.bytes = appendCommand(b.bytes)
	s.end = len(b.bytes)
	l.queue.push(s)
}

// connect makes sure that there is a stream, as far as the back-off allows.
func (l *Link) connect() bool {
	if l.open {
		return true
	}
	if l.now < l.backoff.until {
		return false
	}
	l.free()
	token, ok := l.host.Open()
	if !ok {
		l.backoff.failed(l.now, l.MaxDelay)
		l.failed()
		return false
	}
	l.token, l.open = token, true
	if l.Greeting != nil {
		l.greet()
	}
	return true
}

// flush sends all of the queue as one message, unless a message is on its way.
func (l *Link) flush() {
	if l.messages >= maxFlight {
		return
	}
	l.drop()
	if l.queue.len() > 0 && l.connect() && l.messages < maxFlight {
		l.send()
	}
}

// send sends all of the queue as one message.
func (l *Link) send() {
	if l.flight.len() == 0 {
		l.heardAt = l.now
	}
	b := l.filling
	b.open = l.queue.len()
	for l.queue.len() > 0 {
		l.flight.push(l.queue.pop())
	}
	l.messages++
	l.filling = l.takeSpare()
	l.host.Send(l.token, b.bytes)
	if l.Sent != nil {
		l.Sent(b.open)
	}
}

// drop takes the commands out of the queue that nobody wants any more.
func (l *Link) drop() {
	if !l.dropped {
		return
	}
	l.dropped = false
	all := l.filling.bytes
	kept := all[:0]
	l.queue.keep(func(s *slot) bool {
		if s.ticket.unwanted() {
			return false
		}
		start := len(kept)
		kept = append(kept, all[s.start:s.end]...) // moves bytes to the left only
		s.start, s.end = start, len(kept)
		return true
	})
	l.filling.bytes = kept
}

func (l *Link) takeSpare() *batch {
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return b
	}
	return &batch{}
}

// answered ends a slot's use of its batch.
func (l *Link) answered(s slot) {
	s.batch.open--
	if s.batch.open > 0 {
		return
	}
	l.messages--
	const keep = 1 << 20 // a burst's memory is not kept for ever
	if len(l.spare) <= maxFlight && cap(s.batch.bytes) <= keep {
		s.batch.bytes = s.batch.bytes[:0]
		l.spare = append(l.spare, s.batch)
	}
}

// resend asks again, with the whole script, what a server did not know by its
// hash. The reply said that nothing was carried out.
func (l *Link) resend(s slot) {
	if l.Resent != nil {
		l.Resent()
	}
	command := s.command()
	l.enqueue(slot{ticket: s.ticket, index: s.index, resent: true}, func(dst []byte) []byte {
		return l.full(dst, command)
	})
}
