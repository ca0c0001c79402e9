package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"routelimit/servers/servertest"
)

// subject is one caller on one route of one listener, and so one key.
type subject struct {
	listener, path, algorithm, caller string
	primary                           string // of its key, where it matters; "": it does not
}

func (s subject) key() string { return "rl:{GET:" + s.path + "|caller:" + s.caller + "}" }

// sample is what became of one request.
type sample struct {
	subject
	number         string
	envoy          int
	sent, answered time.Time
	status         int
	decided        bool // it carries our headers: by Redis' word, or that of the deny cache
	body           string
	err            error
	// retries are how often the client found its connection closed and sent the request again. Envoy closes those of a
	// replaced listener after the drain time, with what is on its way on them.
	retries int
}

func (s *sample) took() time.Duration { return s.answered.Sub(s.sent) }

func (s *sample) String() string {
	return fmt.Sprintf("request %s through envoy %d to %s%s as %s: status %d %q, decided %v, error %v, after %v, sent again %d times",
		s.number, s.envoy, s.listener, s.path, s.caller, s.status, s.body, s.decided, s.err, s.took(), s.retries)
}

// load sends requests at a steady rate, whatever becomes of those before.
type load struct {
	urls    [len(rig.envoys)]map[string]string
	clients [len(rig.envoys)]*http.Client
	number  atomic.Int64
	stop    chan struct{}
	stopped sync.WaitGroup

	mutex sync.Mutex
	phase *phase
}

// phase is the requests from before a fault until all works again, as callers of its own.
type phase struct {
	name     string
	subjects []subject
	open     sync.WaitGroup // requests on their way

	mutex   sync.Mutex
	samples []*sample
}

// everySubject is how often each subject is asked for.
const everySubject = 80 * time.Millisecond

func startLoad(t *testing.T, first *phase) *load {
	l := &load{stop: make(chan struct{}), phase: first}
	l.connect(t)
	l.stopped.Go(l.run)
	return l
}

// connect finds the listeners.
func (l *load) connect(t *testing.T) {
	for i, e := range rig.envoys {
		l.urls[i] = map[string]string{}
		for _, name := range []string{single, direct, sharded, injected} {
			l.urls[i][name] = "http://" + servertest.Address(t, e, name)
		}
		transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
		t.Cleanup(transport.CloseIdleConnections)
		l.clients[i] = &http.Client{Transport: transport, Timeout: answerTime}
	}
}

// run sends what is due, in turns to all subjects, to each through all Envoys in turns.
func (l *load) run() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for turn := 0; ; {
		select {
		case <-l.stop:
			return
		case now := <-tick.C:
			for each := l.every(); now.Sub(last) >= each; last = last.Add(each) {
				l.send(turn)
				turn++
			}
		}
	}
}

// every is the time from one request to the next.
func (l *load) every() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return everySubject / time.Duration(len(l.phase.subjects))
}

func (l *load) send(turn int) {
	l.mutex.Lock()
	defer l.mutex.Unlock() // once enter has it, no further request of the phase before begins
	p := l.phase
	round, at := turn/len(p.subjects), turn%len(p.subjects)
	p.open.Add(1)
	go l.one(p, p.subjects[at], (round+at)%len(rig.envoys))
}

func (l *load) one(p *phase, who subject, envoy int) {
	defer p.open.Done()
	s := l.ask(context.Background(), envoy, who, nil)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.samples = append(p.samples, s)
}

// ask sends one request and reads its answer to the end.
func (l *load) ask(ctx context.Context, envoy int, who subject, header map[string]string) *sample {
	s := &sample{subject: who, envoy: envoy, number: strconv.FormatInt(l.number.Add(1), 10)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.urls[envoy][who.listener]+who.path, nil)
	if err != nil {
		panic(err) // the paths are written here
	}
	req.Header.Set("x-caller", who.caller)
	req.Header.Set(numberHeader, s.number)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	s.retries = -1
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.retries++ }}))
	s.sent = time.Now()
	s.take(l.clients[envoy].Do(req))
	return s
}

// take reads an answer.
func (s *sample) take(resp *http.Response, err error) {
	defer func() { s.answered = time.Now() }()
	if s.err = err; err != nil {
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	s.status, s.body, s.err = resp.StatusCode, string(body), err
	s.decided = resp.Header.Get("x-ratelimit-limit") != ""
}

// enter makes the load go on as a phase's subjects.
func (l *load) enter(p *phase) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.phase = p
}

func (l *load) end() {
	close(l.stop)
	l.stopped.Wait()
	l.phase.open.Wait()
}
