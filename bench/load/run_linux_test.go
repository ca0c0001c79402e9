package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve answers every request by a handler.
func serve(t *testing.T, handler http.HandlerFunc) string {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func plan(addrs ...string) Plan {
	return Plan{Addrs: addrs, Connections: 4, Length: 200 * time.Millisecond, Seed: 1,
		Speak: &HTTP{Path: "/", Header: "x-user", Caller: func() string { return "u" }, Status: 200}}
}

func TestRunCountsWhatWasAnswered(t *testing.T) {
	for name, rate := range map[string]float64{"closed loop": 0, "at a rate": 1000} {
		t.Run(name, func(t *testing.T) {
			var seen [2]atomic.Int64
			var addrs []string
			for i := range seen {
				addrs = append(addrs, serve(t, func(http.ResponseWriter, *http.Request) { seen[i].Add(1) }))
			}
			p := plan(addrs...)
			p.Rate = rate
			r, err := Run(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got := seen[0].Load() + seen[1].Load(); got != int64(len(r.Answers)) || seen[0].Load() == 0 || seen[1].Load() == 0 {
				t.Errorf("%d answers, but the servers saw %d and %d", len(r.Answers), seen[0].Load(), seen[1].Load())
			}
			if rate > 0 && (len(r.Answers) < 150 || len(r.Answers) > 250 || len(r.Late) != len(r.Answers)) {
				t.Errorf("%d answers, %d of them noted for lateness, in 0.2 s at 1,000 a second", len(r.Answers), len(r.Late))
			}
			if r.Length < p.Length/2 || r.CPU <= 0 || len(r.Waiting) > 0 {
				t.Errorf("length %v, CPU %v, %d waiting", r.Length, r.CPU, len(r.Waiting))
			}
		})
	}
}

// TestAStallIsSeenByAllWhoWouldHaveCome holds one server still for a while: at a fixed rate, everyone who was to come
// meanwhile waited, though one request alone was on its way.
func TestAStallIsSeenByAllWhoWouldHaveCome(t *testing.T) {
	const stall = 300 * time.Millisecond
	var first atomic.Bool
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		if first.CompareAndSwap(false, true) {
			<-time.After(stall)
		}
	})
	p := plan(addr)
	p.Connections, p.Rate = 1, 1000
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	long := 0
	for _, took := range r.Times() {
		if took >= stall/3 {
			long++
		}
	}
	if long < 150 {
		t.Errorf("%d of %d requests took %v or more; all 200 came while the server stood still", long, len(r.Answers), stall/3)
	}
}

func TestRunOpensAnewWhatTheServerCloses(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("connection", "close") })
	r, err := Run(t.Context(), plan(addr))
	if err != nil {
		t.Fatal(err)
	}
	if r.Reopens < len(r.Answers) || len(r.Answers) == 0 {
		t.Errorf("%d reopened for %d answers", r.Reopens, len(r.Answers))
	}
}

func TestRunFailsWhereARequestFails(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct{ addr, want string }{
		"another status": {serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), "answered \"HTTP/1.1 503"},
		"cut off":        {serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "closed by the server"},
		"nobody listens": {closed.Listener.Addr().String(), "cannot connect"},
		"no address":     {"localhost:http", "no IPv4 address"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Run(t.Context(), plan(c.addr)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := serve(t, func(http.ResponseWriter, *http.Request) { cancel() })
	p := plan(addr)
	p.Length = time.Hour
	if _, err := Run(ctx, p); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

func TestRunRefusesPlansThatAreNone(t *testing.T) {
	for _, p := range []Plan{
		{}, {Addrs: []string{"127.0.0.1:1"}, Length: time.Second}, {Addrs: []string{"127.0.0.1:1"}, Connections: 1},
		{Addrs: []string{"127.0.0.1:1"}, Connections: 1, Length: time.Second, Rate: -1},
		{Addrs: []string{"127.0.0.1:1"}, Connections: 1, Length: time.Second, Gather: true},
	} {
		if _, err := Run(t.Context(), p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func TestWhatFindsNoConnectionCountsWithTheTimeItWaited(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	counts := map[int]int{}
	for _, queued := range []int{0, 3} {
		p := plan(addr)
		p.Rate, p.Length = 1000, 100*time.Millisecond
		r, err := newRunner(p)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		r.free = nil // all connections wait for an answer
		r.conns[0].queue = make([]time.Duration, queued)
		end := p.Length + patience
		if r.giveUp(end - 1); r.over() {
			t.Error("gave up before its time")
		}
		r.giveUp(end)
		times := r.result.Times()
		counts[queued] = len(times)
		if got := times.Quantiles(0.001, 1); !r.done() || got[1] != end || got[0] < patience {
			t.Errorf("waited from %v to %v, want %v to %v; done: %v", got[0], got[1], patience, end, r.done())
		}
	}
	if n := counts[0]; n < 60 || n > 140 || counts[3] != n+3 {
		t.Errorf("%d times of about 100 requests, and %d with 3 that were dealt to a connection", n, counts[3])
	}
}

// TestGatheredRequestsGoTogetherOnceAnswersHaveCome has a server that answers late: what is due on the connection
// meanwhile goes in one message.
func TestGatheredRequestsGoTogetherOnceAnswersHaveCome(t *testing.T) {
	const late = 20 * time.Millisecond
	var seen atomic.Int64
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		// Of a message's requests, which the server takes one after the other, the first one waits.
		if seen.Add(1)%20 == 1 {
			<-time.After(late)
		}
	})
	p := plan(addr)
	p.Connections, p.Rate, p.Gather = 1, 1000, true
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Load(); got != int64(len(r.Answers)) || got < 150 {
		t.Errorf("%d answers, but the server saw %d", len(r.Answers), got)
	}
	if r.Messages*4 > len(r.Answers) {
		t.Errorf("%d messages for %d requests, of which 20 came while one was on its way", r.Messages, len(r.Answers))
	}
}

// TestWhatIsCutOffIsSentAgainIfWanted has a server that closes every tenth connection instead of answering.
func TestWhatIsCutOffIsSentAgainIfWanted(t *testing.T) {
	var asked, cut atomic.Int64
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1)%10 == 0 {
			cut.Add(1)
			panic(http.ErrAbortHandler)
		}
	})
	p := plan(addr)
	p.Rate, p.Resend = 500, true
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if n := cut.Load(); int64(r.Resent) != n || n == 0 || int64(len(r.Answers)) != asked.Load()-n {
		t.Errorf("%d sent again and %d answers, of %d that came, %d of them cut off", r.Resent, len(r.Answers), asked.Load(), n)
	}
}
