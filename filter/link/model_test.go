package link

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"routelimit/resp"
)

// In this test every command has an id of its own, a healthy server answers a
// command with its id, and each request checks that what it gets is its own.
// Requests come and go, the server answers, complains, forgets its scripts,
// stalls, closes and talks nonsense, all at random and in chunks of any size.
func TestModel_EveryCommandIsSettledOnceByItsOwnReply(t *testing.T) {
	defer func(byChance func(time.Duration) time.Duration) { draw = byChance }(draw)
	draw = func(n time.Duration) time.Duration { return n / 2 }
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.BreakAfter = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "break after")
		t.Repeat(map[string]func(*rapid.T){
			"":            w.check,
			"ask":         w.ask,
			"ask more":    w.ask,
			"tell":        w.tell,
			"leave":       w.leave,
			"answer":      w.answer,
			"answer more": w.answer,
			"receive":     w.receive,
			"receive all": w.receiveAll,
			"old tokens":  w.oldTokens,
			"tick":        w.tick,
			"long pause":  w.longPause,
			"way":         func(*rapid.T) { w.host.noWay = !w.host.noWay },
			"close":       w.close,
			"renew":       func(*rapid.T) { w.Renew() },
			"surplus":     w.surplus,
			"garbage":     w.garbage,
		})
		w.finish()
	})
}

// world is the link, its requests and the server.
type world struct {
	*rig
	asked  map[int]*question // by the id of their commands
	all    []*question
	nextID int

	// The server's side of the open stream.
	token   uint32
	pending []string // commands received and not answered
	wire    []byte   // replies on their way
	replies []onWire // those that are not yet delivered whole
	sound   bool     // nothing but true replies was put on the wire
	unheard int      // commands whose replies the link has not got whole

	rejected bool // somebody saw in the present chunk that a reply was not his
}

// onWire is a reply on its way.
type onWire struct {
	end int // in wire
	id  int // of the command; noCommand for nonsense
}

const noCommand = -1

// question is a request and what it must still get.
type question struct {
	w        *world
	ticket   Ticket
	first, n int // its commands are first … first+n-1
	deadline time.Duration
	settled  uint64 // answered or failed
	timedOut uint64 // failed while Late may still come
	late     uint64
	resends  uint64 // NOSCRIPT was on its way to it
	resent   uint64
	sent     uint64
	resumed  bool
	left     bool
	more     int  // commands of a second question
	telling  bool // it tells something when it is resumed, and for each late reply
}

func newWorld(t fatal) *world {
	w := &world{rig: newRig(t), asked: map[int]*question{}}
	w.host.onSend = w.onSend
	return w
}

// id is "q12;" on the wire, and its full form "FULL q12;".
func idCommand(id int) func([]byte) []byte { return command(fmt.Sprint("q", id)) }

func (w *world) newQuestion(n int) *question {
	q := &question{w: w, first: w.nextID, n: n, deadline: math.MaxInt64}
	for range n {
		w.asked[w.nextID] = q
		w.nextID++
	}
	return q
}

func (w *world) ask(t *rapid.T) {
	more := max(0, rapid.IntRange(-3, 2).Draw(t, "more"))
	q := w.newQuestion(rapid.IntRange(1, 3).Draw(t, "commands") + more)
	q.n, q.more = q.n-more, more
	q.telling = rapid.Bool().Draw(t, "telling")
	q.deadline = w.host.now + timeout
	if w.Begin(&q.ticket, q) != None {
		return
	}
	for i := range q.n {
		w.Add(&q.ticket, i, idCommand(q.first+i))
	}
	w.all = append(w.all, q)
	if more > 0 {
		w.Hold(&q.ticket)
	}
	w.Commit(&q.ticket)
}

// askMore asks the second question, unless it may not.
func (q *question) askMore() (asked bool) {
	first, more := q.n, q.more
	q.more = 0
	if more == 0 || q.timedOut != 0 || q.w.Again(&q.ticket) != None {
		q.w.Leave(&q.ticket)
		return false
	}
	if q.deadline <= q.w.host.now {
		q.w.t.Fatalf("q%d asks again at its deadline", q.first)
	}
	q.n += more
	for i := first; i < q.n; i++ {
		q.w.Add(&q.ticket, i, idCommand(q.first+i))
	}
	q.w.Commit(&q.ticket)
	return true
}

func (w *world) tell(*rapid.T) { w.tellOne() }

func (w *world) tellOne() {
	q := w.newQuestion(1)
	w.all = append(w.all, q)
	if w.Tell(q, idCommand(q.first)) != None {
		w.all = w.all[:len(w.all)-1]
	}
}

func (w *world) leave(t *rapid.T) {
	var here []*question
	for _, q := range w.all {
		if !q.left && q.deadline < math.MaxInt64 {
			here = append(here, q)
		}
	}
	if len(here) == 0 {
		t.Skip("nobody waits")
	}
	q := rapid.SampledFrom(here).Draw(t, "who")
	q.left = true
	w.Leave(&q.ticket)
}

// onSend is the server receiving a message.
func (w *world) onSend(message string) {
	if w.host.live != w.token {
		w.newStream()
	}
	if w.unheard > 0 {
		w.t.Fatalf("a second message was sent while %d commands of the first are not answered", w.unheard)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(message, ";"), ";") {
		short, full := strings.CutPrefix(name, "FULL ")
		var id int
		if n, err := fmt.Sscanf(short, "q%d", &id); n != 1 || err != nil {
			w.t.Fatalf("message %q holds no command at %q", message, name)
		}
		w.asked[id].onSent(id, full)
		w.pending = append(w.pending, name)
		w.unheard++
	}
}

func (w *world) newStream() {
	w.token = w.host.live
	w.pending, w.wire, w.replies, w.unheard, w.sound = nil, nil, nil, 0, true
}

func (q *question) onSent(id int, full bool) {
	bit := uint64(1) << (id - q.first)
	switch {
	case q.left || q.ticket.Expired():
		q.w.t.Fatalf("q%d was sent for one who has left or was failed", id)
	case q.settled&bit != 0:
		q.w.t.Fatalf("q%d was sent after it was settled", id)
	case !full && q.sent&bit != 0:
		q.w.t.Fatalf("q%d was sent twice", id)
	case full && (q.resends&bit == 0 || q.resent&bit != 0):
		q.w.t.Fatalf("q%d was sent in full without need, or twice", id)
	case full:
		q.resent |= bit
	}
	q.sent |= bit
	if !q.w.sound {
		q.resends |= bit
	}
}

// answer puts replies to the oldest commands on the wire.
func (w *world) answer(t *rapid.T) {
	if len(w.pending) == 0 {
		t.Skip("the server has nothing to answer")
	}
	for range rapid.IntRange(1, len(w.pending)).Draw(t, "commands") {
		name := w.pending[0]
		w.pending = w.pending[1:]
		var id int
		short, _ := strings.CutPrefix(name, "FULL ")
		fmt.Sscanf(short, "q%d", &id)
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			w.put(id, noScript)
			q := w.asked[id]
			q.resends |= 1 << (id - q.first)
		case 1:
			w.put(id, "-upstream failure\r\n")
		default:
			w.put(id, reply(short))
		}
	}
}

func (w *world) put(id int, bytes string) {
	w.wire = append(w.wire, bytes...)
	w.replies = append(w.replies, onWire{end: len(w.wire), id: id})
}

func (w *world) surplus(t *rapid.T) {
	if w.host.live == 0 {
		t.Skip("no stream")
	}
	w.talkNonsense()
	w.put(noCommand, rapid.SampledFrom([]string{reply("surplus"), ":7\r\n", "+OK\r\n"}).Draw(t, "surplus"))
}

func (w *world) garbage(t *rapid.T) {
	if w.host.live == 0 {
		t.Skip("no stream")
	}
	w.talkNonsense()
	w.put(noCommand, rapid.SampledFrom([]string{"HTTP/1.1 ", "\r\n", "$5\r\nx\r\ny\r\n\r\n", "*-7\r\n"}).Draw(t, "garbage"))
}

// talkNonsense notes that the replies on the open stream may be out of step. A
// command may then be taken for one whose script is unknown, as any reply may be
// taken for another that looks like it.
func (w *world) talkNonsense() {
	if w.host.live != w.token {
		w.newStream() // nothing was sent on it yet
	}
	w.sound = false
	for _, q := range w.all {
		q.resends |= q.sent
	}
}

func (w *world) receive(t *rapid.T) {
	if w.host.live == 0 || w.host.live != w.token || len(w.wire) == 0 {
		t.Skip("nothing is on its way")
	}
	w.deliver(rapid.IntRange(1, len(w.wire)).Draw(t, "bytes"))
}

func (w *world) receiveAll(t *rapid.T) {
	if w.host.live == 0 || w.host.live != w.token {
		t.Skip("nothing is on its way")
	}
	w.deliver(len(w.wire))
}

// deliver hands over the first n bytes of the wire.
func (w *world) deliver(n int) {
	token, chunk := w.token, w.wire[:n]
	w.wire = w.wire[n:]
	for i := range w.replies {
		w.replies[i].end -= n
	}
	whole := 0
	for whole < len(w.replies) && w.replies[whole].end <= 0 {
		whole++
	}
	delivered := w.replies[:whole]
	w.replies = w.replies[whole:]
	w.unheard = max(w.unheard-whole, 0)
	sound, allAnswered := w.sound, len(w.pending) == 0 && len(w.wire) == 0

	w.rejected = false
	renewing := w.renewal.due
	w.rig.receiveOn(token, string(chunk))

	switch givenUp := w.host.live != token; {
	case sound && givenUp && !renewing:
		w.t.Fatalf("the stream was given up after %q, though nothing was wrong with it", chunk)
	case sound:
		for _, reply := range delivered {
			w.asked[reply.id].checkHeard(reply.id)
		}
	case !givenUp && w.rejected:
		w.t.Fatalf("a reply was not its waiter's, and the stream was kept")
	case !givenUp && allAnswered:
		w.t.Fatalf("more came than was asked, and the stream was kept")
	}
}

// checkHeard holds when the reply to a command has come.
func (q *question) checkHeard(id int) {
	bit := uint64(1) << (id - q.first)
	switch {
	case q.timedOut&bit != 0 && q.late&bit == 0:
		q.w.t.Fatalf("the reply to q%d came late and was swallowed", id)
	case q.settled&bit == 0 && q.resends&bit == 0 && !q.left:
		q.w.t.Fatalf("the reply to q%d was swallowed", id)
	}
}

func (w *world) oldTokens(t *rapid.T) {
	token := uint32(rapid.IntRange(0, 100).Draw(t, "token"))
	if token == w.host.live {
		t.Skip("not old")
	}
	w.receiveOn(token, rapid.SampledFrom([]string{reply("q0"), "junk"}).Draw(t, "bytes"))
	w.closeOn(token)
}

func (w *world) close(t *rapid.T) {
	if w.host.live == 0 {
		t.Skip("no stream")
	}
	w.rig.close()
}

func (w *world) tick(t *rapid.T) {
	w.tickAfter(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "us")) * time.Microsecond)
}

func (w *world) longPause(t *rapid.T) {
	w.tickAfter(time.Duration(rapid.IntRange(50, 2000).Draw(t, "ms")) * ms)
}

// tickAfter is a tick, after which nobody's deadline is past.
func (w *world) tickAfter(d time.Duration) {
	w.rig.tick(d)
	for _, q := range w.all {
		if !q.left && q.deadline <= w.host.now && !q.done() {
			w.t.Fatalf("q%d is overdue after a tick and waits still", q.first)
		}
	}
}

func (q *question) done() bool { return q.settled == 1<<q.n-1 }

// check holds between any two calls.
func (w *world) check(t *rapid.T) {
	if w.TickPeriod() > 0 {
		return
	}
	for _, q := range w.all {
		if !q.left && !q.resumed {
			t.Fatalf("q%d waits and no tick will come", q.first)
		}
	}
}

// finish lets time pass, with a server that says nothing more, until the link is
// at rest, and takes stock.
func (w *world) finish() {
	for n := 0; w.TickPeriod() > 0; n++ {
		if n == 5000 {
			w.t.Fatalf("the link does not come to rest")
		}
		w.tickAfter(time.Duration(w.TickPeriod()) * ms)
	}
	if w.Waiting() != 0 || w.queue.len() != 0 || w.flight.len() != 0 || w.ready.len() != 0 {
		w.t.Fatalf("at rest, the link still holds something")
	}
	for _, q := range w.all {
		if !q.left && (!q.done() || !q.resumed) {
			w.t.Fatalf("q%d was forgotten: settled %b of %d commands, resumed %v", q.first, q.settled, q.n, q.resumed)
		}
	}
}

func (q *question) Answer(i int, reply resp.Value) error {
	q.settle(i, "answered")
	return q.own(i, reply)
}

// own checks that the reply is one to command i, as far as it can be seen.
func (q *question) own(i int, reply resp.Value) error {
	want := fmt.Sprint("q", q.first+i)
	switch got := text(reply); {
	case reply.Kind == resp.Error || got == want:
		return nil
	case q.w.sound:
		q.w.t.Fatalf("%s got the reply %q", want, got)
		return nil
	default:
		q.w.rejected = true
		return fmt.Errorf("%s got the reply %q", want, got)
	}
}

func (q *question) Fail(i int, why Failure) {
	q.settle(i, why.String())
	if why == Timeout {
		q.timedOut |= 1 << i
	}
}

func (q *question) settle(i int, how string) {
	switch {
	case q.left:
		q.w.t.Fatalf("q%d %s after its request had left", q.first+i, how)
	case q.resumed:
		q.w.t.Fatalf("q%d %s after its request was resumed", q.first+i, how)
	case i >= q.n || q.settled&(1<<i) != 0:
		q.w.t.Fatalf("q%d %s, after it was settled", q.first+i, how)
	}
	q.settled |= 1 << i
}

func (q *question) Resume() {
	q.w.resumed++
	switch {
	case q.left:
		q.w.t.Fatalf("q%d resumed after it left", q.first)
	case q.resumed:
		q.w.t.Fatalf("q%d resumed twice", q.first)
	case !q.done():
		q.w.t.Fatalf("q%d resumed while it waits", q.first)
	}
	if q.more > 0 && q.askMore() {
		return
	}
	q.resumed = true
	if q.telling {
		q.w.tellOne()
	}
}

func (q *question) Late(i int, reply resp.Value) {
	switch {
	case q.timedOut&(1<<i) == 0:
		q.w.t.Fatalf("q%d came late without a timeout", q.first+i)
	case q.late&(1<<i) != 0:
		q.w.t.Fatalf("q%d came late twice", q.first+i)
	case q.sent&(1<<i) == 0:
		q.w.t.Fatalf("q%d came late and was never sent", q.first+i)
	}
	q.late |= 1 << i
	rejected := q.w.rejected
	q.own(i, reply)
	q.w.rejected = rejected // nobody asks who is late
	if q.telling {
		q.w.tellOne()
	}
}
