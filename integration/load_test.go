package integration

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"routelimit/limit/audit"
	"routelimit/servers"
)

// load asks for a path all the time, half of the requests on connections of their own: connections keep the configuration
// under which they were made until they are drained.
type load struct {
	answered atomic.Int64
	fresh    atomic.Pointer[answer] // the newest on a connection of its own

	mutex    sync.Mutex
	admitted map[int][]audit.Admission // by the limit that passed them
	older    int                       // answers under an older configuration than the newest's, by connections that go on
	newest   int                       // limit on a connection of its own

	stop  chan struct{}
	ended chan error
}

const loadClients = 4

func startLoad(t *testing.T, e *servers.Envoy, p *place, path string) *load {
	l := &load{admitted: map[int][]audit.Admission{}, stop: make(chan struct{}), ended: make(chan error, loadClients)}
	for i := range loadClients {
		c := dial(t, e, p, "")
		go func() { l.ended <- l.ask(c, path, i%2 == 0) }()
	}
	return l
}

// ask ends at the first answer that is neither a pass nor a refusal under a limit.
func (l *load) ask(c *client, path string, anew bool) error {
	for {
		select {
		case <-l.stop:
			return nil
		default:
		}
		if anew {
			c.http.CloseIdleConnections()
		}
		sent := time.Now()
		a, err := c.try("GET", path, "")
		limit := a.number("x-ratelimit-limit")
		switch {
		case err != nil:
			return err
		case limit < 0:
			return fmt.Errorf("no limit held: status %d, headers %v", a.status, a.header)
		case a.status != http.StatusOK && a.status != http.StatusTooManyRequests:
			return fmt.Errorf("status %d %s", a.status, a.body)
		}
		l.note(a, limit, audit.Admission{Sent: sent, Answered: time.Now()}, anew)
	}
}

func (l *load) note(a answer, limit int, at audit.Admission, anew bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if a.status == http.StatusOK {
		l.admitted[limit] = append(l.admitted[limit], at)
	}
	l.answered.Add(1)
	if anew {
		l.newest = limit
		l.fresh.Store(&a)
	} else if limit != l.newest {
		l.older++
	}
}

// holds is nil once new connections get that status under that limit, with nothing left of it if they are refused.
func (l *load) holds(status, limit int) func() error {
	return func() error {
		a := l.fresh.Load()
		if a == nil || a.status != status || a.number("x-ratelimit-limit") != limit || status != http.StatusOK && a.number("x-ratelimit-remaining") != 0 {
			return fmt.Errorf("the newest answer is %+v", a)
		}
		return nil
	}
}

// reached is nil once so many answers have come.
func (l *load) reached(n int64) func() error {
	return func() error {
		select {
		case err := <-l.ended:
			l.ended <- err
			return fmt.Errorf("the load has ended: %w", err)
		default:
		}
		if got := l.answered.Load(); got < n {
			return fmt.Errorf("%d of %d answers", got, n)
		}
		return nil
	}
}

// goOn returns after some more load.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	eventually(t, "load", l.reached(l.answered.Load()+200))
}

func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	for range loadClients {
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	}
}
