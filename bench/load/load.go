// Package load sends requests over many connections from one thread and notes how long each answer took: in a closed
// loop, where each connection sends its next request when the last one is answered, or at a fixed rate, whatever the
// answers.
//
// At a fixed rate the moments of requests are drawn beforehand (a Poisson process, the same for the same seed), and a
// request's time runs from its moment on, also while it waits for a free connection: a stalled server is seen by all who
// would have come meanwhile, and not by those alone who were on their way ("coordinated omission").
//
//	result, err := load.Run(ctx, load.Plan{Addr: "127.0.0.1:10000", Connections: 8, Length: time.Second, Speak: talk})
package load

import (
	"fmt"
	"time"
)

// Plan is a load on one address or several. It runs on Linux 5.11 or newer.
type Plan struct {
	Addrs       []string // IPv4 host:port; connections are dealt to them in turn
	Connections int
	Rate        float64 // requests a second; 0: a closed loop
	// Gather deals requests at a fixed rate to connections by chance, and lets those of a connection that waits for answers
	// wait for them and then go together, as routelimit's worker does. Otherwise a request takes the connection that has
	// been free for longest.
	Gather bool
	// Resend sends what is on its way again where the server closes the connection before any byte of an answer, as HTTP
	// clients do for GET. Otherwise that ends the load with an error.
	Resend bool
	Length time.Duration
	Seed   uint64 // of the moments at a fixed rate
	Speak  Protocol
}

// Protocol writes requests and reads answers. It is asked from one thread.
type Protocol interface {
	// Append appends the next request, of 512 bytes at most.
	Append(b []byte) []byte
	// Read reads one answer from the start of b: it is n bytes long, 0 if b does not hold all of it yet. last says that
	// the server closes the connection after it. An answer that should not be is an error.
	Read(b []byte) (n int, last bool, err error)
}

// Answer is one request that was answered.
type Answer struct {
	At   time.Duration // when it was to be sent, from the beginning of the load
	Took time.Duration // from then to its answer
}

// Result is what became of a load.
type Result struct {
	Answers []Answer      // in the order in which they came
	Length  time.Duration // from the beginning to the last answer
	// Waiting are the requests at a fixed rate that found no free connection before the load gave up, each with the time
	// it had waited by then: the server could not keep up.
	Waiting  []Answer
	Messages int           // in which the requests were sent; as many as them, unless they were gathered
	Reopens  int           // connections that the server closed after an answer, or while they were idle
	Resent   int           // messages that were sent again
	CPU      time.Duration // of the thread that made the load
	Late     Times         // by how much requests were sent later than they could have been: the generator's own fault
}

// most is how many gathered requests go together.
const most = 256

// patience is how long an answer may take, and how long a load at a fixed rate goes on after its end for those that wait.
const patience = 5 * time.Second

// PerSecond is the rate of answers.
func (r *Result) PerSecond() float64 { return float64(len(r.Answers)) / r.Length.Seconds() }

// Times are the times of all requests. Those that were never sent count with the time that they had waited.
func (r *Result) Times() Times {
	t := make(Times, 0, len(r.Answers)+len(r.Waiting))
	for _, list := range [][]Answer{r.Answers, r.Waiting} {
		for _, a := range list {
			t = append(t, a.Took)
		}
	}
	return t
}

func (p Plan) check() error {
	switch {
	case len(p.Addrs) == 0 || p.Connections < len(p.Addrs):
		return fmt.Errorf("%d connections to %d addresses; give at least one address and a connection for each", p.Connections, len(p.Addrs))
	case p.Length <= 0:
		return fmt.Errorf("a load of %v is none; give it a length", p.Length)
	case p.Rate < 0 || p.Rate > 1e6 || p.Gather && p.Rate == 0:
		return fmt.Errorf("a rate of %v requests a second; give up to 1,000,000, or 0 for a closed loop, in which nothing is gathered", p.Rate)
	}
	return nil
}
