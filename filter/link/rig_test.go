package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

// timeout is the deadline of the links under test.
const timeout = 50 * time.Millisecond

const ms = time.Millisecond

// fakeHost is a proxy whose clock is moved by hand. It fails the test where the
// link does what the proxy does not forgive.
type fakeHost struct {
	t         fatal
	now       time.Duration
	noWay     bool   // Open fails
	mute      bool   // what is sent goes nowhere, as on a dead stream; nobody says so
	closing   bool   // inside the callback that reports a closed stream
	ended     uint32 // a stream that the other end closed and that was not freed yet; 0: none
	opens     int
	live      uint32 // the token that may be used; 0: none
	sent      []string
	closed    []uint32
	cancelled []uint32
	freed     []uint32
	onSend    func(message string)
	panicking bool // the next Send panics
}

// fatal is a testing.T, or rapid's.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (h *fakeHost) Open() (token uint32, ok bool) {
	h.t.Helper()
	if h.closing {
		h.t.Fatalf("a stream was opened while the close of one was reported; the proxy would spin")
	}
	if h.live != 0 || h.ended != 0 {
		h.t.Fatalf("a stream was opened beside token %d, while %d was not freed", h.live, h.ended)
	}
	h.opens++
	if h.noWay {
		return 0, false
	}
	h.live = tokenOf(h.opens)
	return h.live, true
}

// tokenOf is the token of the n-th stream, numbered as Envoy does.
func tokenOf(n int) uint32 { return uint32(2 + 4*n) }

func (h *fakeHost) Send(token uint32, message []byte) {
	h.t.Helper()
	if token != h.live {
		h.t.Fatalf("sent on token %d while %d is the open one; the proxy would lose it silently", token, h.live)
	}
	if h.panicking {
		h.panicking = false
		panic("send")
	}
	if h.mute {
		return
	}
	h.sent = append(h.sent, string(message))
	if h.onSend != nil {
		h.onSend(string(message))
	}
}

func (h *fakeHost) Close(token uint32) { h.end(token, &h.closed) }

// Cancel also frees a stream that the other end has closed.
func (h *fakeHost) Cancel(token uint32) {
	h.t.Helper()
	if token == h.ended && !h.closing {
		h.ended = 0
		h.freed = append(h.freed, token)
		return
	}
	h.end(token, &h.cancelled)
}

func (h *fakeHost) end(token uint32, how *[]uint32) {
	h.t.Helper()
	if token != h.live {
		h.t.Fatalf("token %d was given up while %d is the open one", token, h.live)
	}
	h.live = 0
	*how = append(*how, token)
}

func (h *fakeHost) Now() time.Duration { return h.now }

// rig is a link on a fakeHost, driven as the filter drives it.
type rig struct {
	*Link
	host *fakeHost
	t    fatal
	// resumed is how many requests were let go in the present callback.
	resumed int
}

func newRig(t fatal) *rig {
	r := &rig{t: t, host: &fakeHost{t: t, now: time.Hour}}
	r.Link = New(r.host, timeout, func(dst, command []byte) []byte {
		return append(append(dst, "FULL "...), command...)
	})
	return r
}

// caller is one request. log holds the calls that it got.
type caller struct {
	rig    *rig
	ticket Ticket
	log    []string
	reject bool // the replies make no sense to it
	panics bool // on its next Answer or Fail

	onLate, onResume func()
}

func (c *caller) note(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

func (c *caller) Answer(i int, reply resp.Value) error {
	c.panicOnce()
	c.note("answer %d %s", i, text(reply))
	if c.reject {
		return fmt.Errorf("reply %d makes no sense", i)
	}
	return nil
}

func (c *caller) Fail(i int, why Failure) {
	c.panicOnce()
	c.note("fail %d %v", i, why)
}

func (c *caller) panicOnce() {
	if c.panics {
		c.panics = false
		panic("caller")
	}
}

func (c *caller) Late(i int, reply resp.Value) {
	c.note("late %d %s", i, text(reply))
	if c.onLate != nil {
		c.onLate()
	}
}

func (c *caller) Resume() {
	c.rig.resumed++
	c.note("resume")
	if c.onResume != nil {
		c.onResume()
	}
}

func text(v resp.Value) string {
	switch v.Kind {
	case resp.Integer:
		return fmt.Sprint(v.Int)
	case resp.Error:
		return "-" + string(v.Text)
	case resp.Array:
		return fmt.Sprintf("array of %d", len(v.Elems))
	}
	return string(v.Text)
}

// newCaller returns a request that has not asked yet.
func (r *rig) newCaller() *caller { return &caller{rig: r} }

// ask asks with one command for each name, and fails the test if it may not.
func (r *rig) ask(names ...string) *caller {
	r.t.Helper()
	c := r.newCaller()
	if f := r.tryAsk(c, names...); f != None {
		r.t.Fatalf("asking %v was refused: %v", names, f)
	}
	return c
}

func (r *rig) tryAsk(c *caller, names ...string) Failure {
	if f := r.Begin(&c.ticket, c); f != None {
		return f
	}
	for i, name := range names {
		r.Add(&c.ticket, i, command(name))
	}
	r.Commit(&c.ticket)
	return None
}

// tell sends what has no deadline.
func (r *rig) tell(name string) *caller {
	r.t.Helper()
	c := r.newCaller()
	if f := r.Tell(c, command(name)); f != None {
		r.t.Fatalf("telling %s was refused: %v", name, f)
	}
	return c
}

// command is "name;": the link does not care what commands look like.
func command(name string) func([]byte) []byte {
	return func(dst []byte) []byte { return append(append(dst, name...), ';') }
}

// receive hands over a chunk of the open stream, as one callback.
func (r *rig) receive(chunk string) {
	r.t.Helper()
	r.receiveOn(r.host.live, chunk)
}

func (r *rig) receiveOn(token uint32, chunk string) {
	r.t.Helper()
	r.Receive(token, []byte(chunk))
	r.drain()
}

// close is the other end closing the open stream.
func (r *rig) close() {
	r.t.Helper()
	r.closeOn(r.host.live)
}

func (r *rig) closeOn(token uint32) {
	r.t.Helper()
	r.host.closing = true
	if token == r.host.live {
		r.host.live, r.host.ended = 0, token
	}
	r.Closed(token)
	r.drain()
	r.host.closing = false
}

// tick is the next tick, after a time.
func (r *rig) tick(after time.Duration) {
	r.t.Helper()
	r.host.now += after
	r.Tick()
	r.drain()
}

func (r *rig) drain() {
	r.t.Helper()
	r.resumed = 0
	r.Drain()
	if r.resumed > 64 {
		r.t.Fatalf("%d requests were let go in one callback; the VM's stack would overflow", r.resumed)
	}
}

// warm opens the stream and leaves one message on its way, so that what is
// asked next queues.
func (r *rig) warm() *caller {
	r.t.Helper()
	return r.ask("first")
}

// reply is the reply to one of the commands above.
func reply(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(name), name)
	}
	return b.String()
}

func (c *caller) expect(t *testing.T, who string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.log); diff != "" {
		t.Errorf("%s: calls (-want +got):\n%s", who, diff)
	}
}

func (r *rig) expectSent(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.host.sent); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func expectTokens(t *testing.T, what string, got []uint32, want ...uint32) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got tokens %v, want %v", what, got, want)
	}
}
