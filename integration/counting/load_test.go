package counting

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"routelimit/limit"
	"routelimit/limit/audit"
	"routelimit/servers/servertest"
)

// subject is one caller on one route, and so one key.
type subject struct{ path, algorithm, caller string }

func (s subject) key() string { return "rl:{GET:" + s.path + "|caller:" + s.caller + "}" }

// counted says that a second limit counts what the first one lets through.
func (s subject) counted() bool { return s.path == "/counted/"+s.algorithm }

// subjects are so many callers on every route. Their names begin with the test's, so that no two tests share a key.
func subjects(test string, callers int) []subject {
	var list []subject
	for i := range callers {
		list = append(list, everywhere(fmt.Sprintf("%s%d", test, i))...)
	}
	return list
}

// everywhere is a caller on every route.
func everywhere(caller string) []subject {
	var list []subject
	for _, algorithm := range limit.AlgorithmNames() {
		for _, path := range []string{"/short/", "/counted/"} {
			list = append(list, subject{path + algorithm, algorithm, caller})
		}
	}
	return list
}

// record is what became of a subject's requests.
type record struct {
	admitted           []audit.Admission
	refused, undecided int // 429 and 503
	decided            int // in a row, to the newest
}

// load is requests of all subjects, in turns, through all Envoys, until it is ended.
type load struct {
	answered atomic.Int64
	stop     chan struct{}
	wait     sync.WaitGroup

	mutex   sync.Mutex
	records map[subject]*record
	failed  error
}

// clientsOfAnEnvoy is how many requests are on their way through each Envoy.
const clientsOfAnEnvoy = 3

// startLoad returns when all subjects have been asked for a while.
func startLoad(t *testing.T, listener string, subjects []subject) *load {
	t.Helper()
	l := &load{stop: make(chan struct{}), records: map[subject]*record{}}
	for _, s := range subjects {
		l.records[s] = &record{}
	}
	for i, e := range rig.envoys {
		url := "http://" + servertest.Address(t, e, listener)
		for j := range clientsOfAnEnvoy {
			first := (i*clientsOfAnEnvoy + j) * len(subjects) / (len(rig.envoys) * clientsOfAnEnvoy)
			l.wait.Go(func() { l.ask(url, subjects, first) })
		}
	}
	l.goOn(t)
	return l
}

// ask sends requests until it is stopped or one gets an answer that no limiter gives.
func (l *load) ask(url string, subjects []subject, first int) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	for i := first; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		s := subjects[i%len(subjects)]
		sent := time.Now()
		status, text, err := get(client, url+s.path, s.caller)
		if err == nil {
			err = l.note(s, status, text, audit.Admission{Sent: sent, Answered: time.Now()})
		}
		if err != nil {
			l.mutex.Lock()
			l.failed = errors.Join(l.failed, fmt.Errorf("%v: %w", s, err))
			l.mutex.Unlock()
			return
		}
	}
}

func get(client *http.Client, url, caller string) (status int, text string, err error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("x-caller", caller)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func (l *load) note(s subject, status int, text string, a audit.Admission) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := l.records[s]
	switch {
	case status == http.StatusOK:
		r.admitted = append(r.admitted, a)
		r.decided++
	case status == http.StatusTooManyRequests:
		r.refused++
		r.decided++
	case status == http.StatusServiceUnavailable && text == `{"error":"rate_limiter_unavailable"}`:
		r.undecided++
		r.decided = 0
	default:
		return fmt.Errorf("status %d %s", status, text)
	}
	l.answered.Add(1)
	return nil
}

// goOn returns when a window has passed, in which every subject was asked more often than its limit.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	began, from := time.Now(), l.answered.Load()
	eventually(t, "load", func() error {
		if n := l.answered.Load() - from; n < int64((shortLimit+1)*len(l.records)) || time.Since(began) < time.Second {
			return fmt.Errorf("%d answers in %v; failed: %v", n, time.Since(began), l.failure())
		}
		return nil
	})
}

// untilDecided returns when every subject's newest requests were decided, through all Envoys.
func (l *load) untilDecided(t *testing.T) {
	t.Helper()
	eventually(t, "all are decided", func() error {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		for who, r := range l.records {
			if r.decided < 2*len(rig.envoys)*clientsOfAnEnvoy {
				return fmt.Errorf("of %s the newest %d; failed: %v", who.key(), r.decided, l.failed)
			}
		}
		return nil
	})
}

func (l *load) failure() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.failed
}

// end stops the load and returns what became of it.
func (l *load) end(t *testing.T) map[subject]*record {
	t.Helper()
	close(l.stop)
	l.wait.Wait()
	if l.failed != nil {
		t.Error(l.failed)
	}
	return l.records
}

// eventually polls until check is nil. Where it never is, the test fails with what check said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not after a minute: %v", what, err)
		}
	}
}
