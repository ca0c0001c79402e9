package link

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"routelimit/resp"
)

// quietHost is a proxy that only counts.
type quietHost struct {
	now  time.Duration
	sent int
}

func (h *quietHost) Open() (token uint32, ok bool) { return 6, true }
func (h *quietHost) Send(uint32, []byte)           { h.sent++ }
func (h *quietHost) Close(uint32)                  {}
func (h *quietHost) Cancel(uint32)                 {}
func (h *quietHost) Now() time.Duration            { return h.now }

// quietCaller is a request that only counts.
type quietCaller struct {
	ticket   Ticket
	answered int
	resumed  int
}

func (c *quietCaller) Answer(_ int, reply resp.Value) error {
	c.answered += len(reply.Elems)
	return nil
}
func (c *quietCaller) Fail(int, Failure)    {}
func (c *quietCaller) Late(int, resp.Value) {}
func (c *quietCaller) Resume()              { c.resumed++ }

// round is one turn of n requests at once: the first question goes out alone,
// the others in one message when its reply comes.
type round struct {
	link    *Link
	host    *quietHost
	callers []quietCaller
	ask     func([]byte) []byte
	one     []byte
	others  []byte
}

func newRound(n int) *round {
	const decision = "*6\r\n:1\r\n:1700000000123\r\n:1\r\n:41\r\n:60000\r\n:0\r\n"
	r := &round{
		host:    &quietHost{},
		callers: make([]quietCaller, n),
		one:     []byte(decision),
		others:  []byte(strings.Repeat(decision, n-1)),
	}
	r.link = New(r.host, timeout, nil)
	command := []byte(strings.Repeat("x", 150))
	r.ask = func(dst []byte) []byte { return append(dst, command...) }
	return r
}

func (r *round) run() {
	for i := range r.callers {
		c := &r.callers[i]
		r.link.Begin(&c.ticket, c)
		r.link.Add(&c.ticket, 0, r.ask)
		r.link.Commit(&c.ticket)
	}
	r.receive(r.one)
	r.receive(r.others)
	r.host.now += 5 * ms
	r.link.Tick()
	r.link.Drain()
	r.link.TickPeriod()
}

func (r *round) receive(chunk []byte) {
	if len(chunk) > 0 {
		r.link.Receive(6, chunk)
		r.link.Drain()
	}
}

var concurrencies = []int{1, 8, 64}

func BenchmarkAsk(b *testing.B) {
	for _, n := range concurrencies {
		b.Run(strconv.Itoa(n)+" at once", func(b *testing.B) {
			r := newRound(n)
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				r.run()
			}
		})
	}
}

func TestAsk_AllocatesNothingInSteadyState(t *testing.T) {
	for _, n := range concurrencies {
		r := newRound(n)
		r.run()
		const runs = 100
		if got := testing.AllocsPerRun(runs, r.run); got != 0 {
			t.Errorf("%d requests at once: %v allocations a round, want none", n, got)
		}
		for i := range r.callers {
			if c := &r.callers[i]; c.resumed != runs+2 || c.answered != 6*(runs+2) {
				t.Fatalf("request %d of %d was resumed %d times in %d rounds", i, n, c.resumed, runs+2)
			}
		}
	}
}
