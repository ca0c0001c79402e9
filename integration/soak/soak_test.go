package soak

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

const (
	connections = 24
	// inARow is how many callers' requests a connection sends before it reads the answers.
	inARow = 10
)

// soak is load on one Envoy.
type soak struct {
	addr     string
	next     atomic.Int64 // caller
	passed   atomic.Int64
	refused  atomic.Int64
	left     atomic.Int64 // clients that went before their answer
	mutex    sync.Mutex
	failures error
}

// TestG36_MemoryAndMetricsAreLevel sends requests of very many callers, half of which are refused, to several workers,
// while other clients leave before they are answered. From a third of the way on the VMs' memory stays where it is, and
// from the first thousand callers on the number of metrics.
func TestG36_MemoryAndMetricsAreLevel(t *testing.T) {
	redis := servertest.StartRedis(t, servers.RedisOptions{})
	e := startEnvoy(t, redis)
	s := &soak{addr: servertest.Address(t, e, "public")}
	s.upTo(t, 1000, 0, e)
	before := series(t, e)
	first := memoryOf(t, e)
	t.Logf("after 1,000 callers: %v; %d metrics", first, len(before))

	began := time.Now()
	s.upTo(t, *callersFlag/3, *forFlag/3, e)
	warm := memoryOf(t, e)
	s.upTo(t, *callersFlag, *forFlag-*forFlag/3, e)
	end := memoryOf(t, e)
	took := time.Since(began)
	after := series(t, e)
	t.Logf("%d requests of %d callers in %v, %.0f a second; %d refused, %d clients left unanswered", s.passed.Load()+s.refused.Load(),
		s.next.Load(), took.Round(time.Second), float64(s.passed.Load()+s.refused.Load())/took.Seconds(), s.refused.Load(), s.left.Load())
	t.Logf("after a third: %v", warm)
	t.Logf("at the end: %v; %d metrics", end, len(after))

	if s.failures != nil {
		t.Fatal(s.failures)
	}
	if n := s.refused.Load() - s.passed.Load(); n > splitByMidnight || n < -splitByMidnight {
		t.Errorf("%d passed, %d refused, want half of all", s.passed.Load(), s.refused.Load())
	}
	if grown := end.vms - warm.vms; grown > levelWithin {
		t.Errorf("the VMs' memory has grown by %d MB, from %v to %v", grown>>20, warm, end)
	}
	for name := range after {
		if strings.Contains(name, "somebody") || !before[name] {
			t.Errorf("metric %s was not there after the first thousand callers", name)
		}
	}
}

const (
	// splitByMidnight is how many verdicts may differ where a window of a day ends on the way.
	splitByMidnight = 1000
	// levelWithin is what V8 and Go's collector may take and give back for themselves in all VMs together.
	levelWithin = 24 << 20
)

// upTo sends until so many callers have asked and so much time has passed.
func (s *soak) upTo(t *testing.T, callers int, lasts time.Duration, e *servers.Envoy) {
	t.Helper()
	began := time.Now()
	more := func() bool {
		return (s.next.Load() < int64(callers) || time.Since(began) < lasts) && s.failure() == nil
	}
	var wait sync.WaitGroup
	for range connections {
		wait.Go(func() { s.note(s.ask(more)) })
	}
	wait.Go(func() { s.note(s.leave(more)) })
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	tick := time.NewTicker(logEvery())
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			t.Logf("%4.0f s: %d callers, %d passed, %d refused, %v", time.Since(began).Seconds(), s.next.Load(), s.passed.Load(),
				s.refused.Load(), memoryOf(t, e))
		}
	}
}

func (s *soak) note(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failures = errors.Join(s.failures, err)
}

func (s *soak) failure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failures
}

// ask sends the requests of some callers after each other on one connection, and reads the answers.
func (s *soak) ask(more func() bool) error {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	var out []byte
	for more() {
		out = out[:0]
		for range inARow {
			out = appendRequests(out, s.next.Add(1))
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := conn.Write(out); err != nil {
			return err
		}
		for range inARow * requestsEach {
			status, err := readAnswer(in)
			switch {
			case err != nil:
				return err
			case status == 200:
				s.passed.Add(1)
			case status == 429:
				s.refused.Add(1)
			default:
				return fmt.Errorf("status %d", status)
			}
		}
	}
	return nil
}

func appendRequests(out []byte, caller int64) []byte {
	path := "/one"
	if caller%2 == 0 {
		path = "/two"
	}
	for range requestsEach {
		out = fmt.Appendf(out, "GET %s HTTP/1.1\r\nhost: a\r\nx-caller: somebody%d\r\n\r\n", path, caller)
	}
	return out
}

// readAnswer takes one answer off a connection.
func readAnswer(in *bufio.Reader) (status int, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
			_, err := io.CopyN(io.Discard, in, int64(length))
			return status, err
		case first && len(line) > 12:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		default:
			if value, found := bytes.CutPrefix(line, []byte("content-length: ")); found {
				if length, err = strconv.Atoi(string(value)); err != nil {
					return 0, err
				}
			}
		}
	}
}

// leave sends requests and goes before they are answered.
func (s *soak) leave(more func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; more(); <-tick.C {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return err
		}
		fmt.Fprintf(conn, "GET /two HTTP/1.1\r\nhost: a\r\nx-caller: somebody-left%d\r\n\r\n", s.left.Add(1))
		conn.Close()
	}
	return nil
}
