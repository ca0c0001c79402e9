package standalone

import (
	"context"
	"errors"
	"fmt"
	"time"

	hosttest "routelimit/host-test"
)

// worker is one VM, as each of Envoy's workers has one. All that happens in it happens in one goroutine, in the functions
// that others hand over.
type worker struct {
	server    *Server
	host      *hosttest.Host
	vm        *hosttest.VM
	plugin    *hosttest.Plugin
	histogram histograms
	exchanges map[*exchange]bool
	links     map[*hosttest.GRPCStream]*link

	calls   chan func()
	ending  chan struct{} // closed to end it
	ended   chan struct{} // closed when it has
	wounded bool          // the VM's death has been told of
}

var errEnded = errors.New("the worker has ended")

func startWorker(ctx context.Context, s *Server) (*worker, error) {
	o := &s.options
	w := &worker{
		server: s, exchanges: map[*exchange]bool{}, links: map[*hosttest.GRPCStream]*link{}, histogram: histograms{},
		calls: make(chan func()), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	w.host = hosttest.NewHost(o.Module, hosttest.Options{
		Generation: hosttest.Current, FailReload: true, Clock: hosttest.NewClockAt(time.Now()), Environment: o.Env,
		Clusters: map[string]hosttest.Backend{o.Cluster: w}, LogLevel: hosttest.LogInfo,
		OnLog:    func(l hosttest.LogLine) { s.log.line(l.Level.String(), l.Text) },
		OnRecord: w.histogram.record,
	})
	var err error
	if w.vm, err = w.host.NewVM(ctx); err != nil {
		return nil, fmt.Errorf("the module does not start: %w; build it anew with make wasm", err)
	}
	go w.run()
	if err = w.warm(ctx); err != nil {
		w.end()
		return nil, fmt.Errorf("the module does not run: %w; build it anew with make wasm", err)
	}
	_ = w.do(func() { w.plugin, err = w.vm.NewPlugin(o.Policy) }) // nobody else ends the worker now
	if err != nil {
		w.end()
		return nil, fmt.Errorf("the module refuses the policy: %w; see the log", err)
	}
	return w, nil
}

// run does what others hand over, and lets the module's ticks fire.
func (w *worker) run() {
	defer close(w.ended)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		pause, ticking := w.host.Clock().UntilTick()
		if !ticking {
			pause = time.Hour
		}
		tick.Reset(pause)
		select {
		case call := <-w.calls:
			w.host.Clock().Follow(time.Now())
			call()
		case <-tick.C:
			w.host.Clock().Follow(time.Now())
		case <-w.ending:
			w.close()
			return
		}
		w.settle()
	}
}

// settle sends on whatever came out of the filter.
func (w *worker) settle() {
	if dead := w.vm.Dead(); dead != nil && !w.wounded {
		w.wounded = true
		w.server.log.line("critical", "the VM is loaded again by the next request: "+dead.Error())
		for _, l := range w.links {
			l.close()
		}
		clear(w.links)
		for x := range w.exchanges {
			if x.stream.Hanging() {
				x.stream.Disconnect() // nothing would ever answer it
			}
		}
	}
	w.wounded = w.vm.Dead() != nil
	for x := range w.exchanges {
		x.pump()
	}
}

// do has something done in the worker's goroutine, and waits for it.
func (w *worker) do(call func()) error {
	done := make(chan struct{})
	select {
	case w.calls <- func() { call(); close(done) }:
		<-done
		return nil
	case <-w.ended:
		return errEnded
	}
}

// end ends the worker and everything in it.
func (w *worker) end() {
	close(w.ending)
	<-w.ended
}

func (w *worker) close() {
	for x := range w.exchanges {
		x.stream.Disconnect()
		x.pump()
	}
	for _, l := range w.links {
		l.close()
	}
	_ = w.vm.Close() // it frees memory and nothing more
}
