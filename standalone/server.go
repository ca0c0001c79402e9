package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"routelimit/bootstrap"
	hosttest "routelimit/host-test"
	"routelimit/servers"
)

// Options say what is run.
type Options struct {
	Module    *hosttest.Module
	Policy    []byte            // as the module reads it
	KeyPrefix string            // of the policy
	Cluster   string            // the Envoy cluster under which the policy knows Redis
	Env       map[string]string // what the module may see of the environment
	Front     *bootstrap.Front  // what an Envoy does before the filter; nil: nothing

	Redis redis.UniversalClient
	// Patience is how long one question to Redis may take, as op_timeout of redis_proxy.
	Patience time.Duration

	Host     string // address to listen on
	Port     int    // 0: a free one
	Upstream string // host:port, or the path of a unix socket
	Workers  int
	Log      io.Writer // gets the module's log lines
}

// mostRequests are handled at a time. More get 503, as from Envoy's circuit breaker.
const mostRequests = 1024

// grace is what requests on their way get when the server ends.
const grace = 2 * time.Second

// Server is a running front.
type Server struct {
	options   Options
	http      *http.Server
	addr      net.Addr
	workers   []*worker
	upstreams upstreams
	log       *logger

	next  atomic.Uint64 // worker
	slots chan struct{}
	done  chan struct{} // closed when nothing is served any more
	end   sync.Once
}

// Start listens and serves. A port that is taken is a *servers.PortInUseError.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o, slots: make(chan struct{}, mostRequests), done: make(chan struct{}), log: &logger{out: o.Log}}
	s.upstreams = newUpstreams(o.Upstream)
	for range max(1, o.Workers) {
		w, err := startWorker(context.WithoutCancel(ctx), s)
		if err != nil {
			s.stopWorkers()
			return nil, err
		}
		s.workers = append(s.workers, w)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host, fmt.Sprint(o.Port)))
	if err != nil {
		s.stopWorkers()
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &servers.PortInUseError{Host: o.Host, Port: o.Port}
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address", net.JoinHostPort(o.Host, fmt.Sprint(o.Port)), err)
	}
	s.addr = l.Addr()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler: s, DisableGeneralOptionsHandler: true, Protocols: protocols, MaxHeaderBytes: maxHeaderBytes, ErrorLog: s.log.plain(),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.line("error", "the server has ended: "+err.Error())
		}
	}()
	return s, nil
}

// maxHeaderBytes is Envoy's max_request_headers_kb.
const maxHeaderBytes = 60 << 10

// Addr is host:port. 0.0.0.0 is given as 127.0.0.1.
func (s *Server) Addr() string {
	host, port, _ := net.SplitHostPort(s.addr.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop lets requests on their way end for a moment, then ends everything.
func (s *Server) Stop() {
	s.end.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			s.http.Close()
		}
		<-s.done
		s.stopWorkers()
		for range mostRequests {
			s.slots <- struct{}{} // nobody is at work any more
		}
		s.upstreams.close()
	})
}

func (s *Server) stopWorkers() {
	for _, w := range s.workers {
		w.end()
	}
}

// ServeHTTP passes one request through the filter.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		http.Error(w, "CONNECT is not served without Envoy", http.StatusNotImplemented)
		return
	}
	if strings.Contains(r.RequestURI, "#") { // as Envoy: what one reader cuts off, another takes for a part of the path
		http.Error(w, "a path has no fragment", http.StatusBadRequest)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, "too many requests at a time", http.StatusServiceUnavailable)
		return
	}
	x := newExchange(s.workers[s.next.Add(1)%uint64(len(s.workers))], &s.upstreams)
	x.serve(w, r, s.options.Front)
}
