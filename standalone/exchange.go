package standalone

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"routelimit/bootstrap"
	hosttest "routelimit/host-test"
)

// exchange is one request and its response.
type exchange struct {
	worker    *worker
	upstreams *upstreams
	stream    *hosttest.Stream

	request  *http.Request
	trailer  http.Header // of the request on its way to the upstream: the names until the values are there
	upstream *passage    // the request, behind the filter
	client   *passage    // the response, behind the filter
	asked    bool        // the upstream
	answered chan struct{}
}

func newExchange(w *worker, u *upstreams) *exchange {
	return &exchange{worker: w, upstreams: u, upstream: newPassage(), client: newPassage(), answered: make(chan struct{})}
}

// serve returns when the client has its answer or has gone.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request, front *bootstrap.Front) {
	headers, properties, err := arriving(r, front)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	x.request, x.trailer = r, r.Trailer.Clone()
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/2 is so anyway
	bodyless := r.Body == http.NoBody
	if x.worker.do(func() { x.begin(headers, properties, bodyless) }) != nil {
		http.Error(w, "the server ends", http.StatusServiceUnavailable)
		return
	}
	stop := context.AfterFunc(r.Context(), x.leave)
	defer stop()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		if !bodyless {
			x.feed(r)
		}
	}()
	complete := x.answer(w, fed)
	x.leave()
	select {
	case <-fed:
	default: // the body is still on its way, and nobody wants it
		_ = control.SetReadDeadline(time.Unix(1, 0))
		<-fed
	}
	<-x.answered
	if !complete {
		panic(http.ErrAbortHandler) // so that the client sees it broken
	}
}

// begin sends the request's headers into the filter.
func (x *exchange) begin(headers hosttest.Headers, properties map[string]string, end bool) {
	x.stream = x.worker.plugin.NewStream()
	for path, value := range properties {
		x.stream.SetProperty([]byte(value), path)
	}
	x.worker.exchanges[x] = true
	x.stream.SendHeaders(headers, end)
}

// leave tells the filter that the client has gone, or has its answer.
func (x *exchange) leave() {
	_ = x.worker.do(x.stream.Disconnect) // a worker that has ended has done so
}

// mostHeld is how much of a body is sent into a filter that holds the request, as much as Envoy would.
const mostHeld = 1 << 20

// feed sends the request's body into the filter, no faster than the upstream takes it.
func (x *exchange) feed(r *http.Request) {
	buffer := make([]byte, 16<<10)
	for sent := 0; ; {
		n, err := r.Body.Read(buffer)
		end := err == io.EOF
		if err != nil && !end {
			x.leave()
			return
		}
		trailers := trailersOf(r.Trailer)
		if x.worker.do(func() {
			x.stream.SendBody(buffer[:n], end && trailers == nil)
			if end && trailers != nil {
				x.stream.SendTrailers(trailers)
			}
		}) != nil || end {
			return
		}
		if sent += n; sent > mostHeld {
			x.upstream.head()
		}
		x.upstream.room()
	}
}

// pump sends on what has come out of the filter. The worker calls it.
func (x *exchange) pump() {
	upstream, client := x.stream.Take()
	finished := x.stream.Finished()
	x.upstream.put(&upstream, finished)
	x.client.put(&client, finished)
	if upstream.Started && !x.asked {
		x.asked = true
		go x.ask()
	}
	if finished {
		if !x.asked {
			x.asked = true
			close(x.answered)
		}
		delete(x.worker.exchanges, x)
	}
}

// answer writes the response as it comes out of the filter. False: it was cut.
func (x *exchange) answer(w http.ResponseWriter, fed <-chan struct{}) bool {
	headers, ok := x.client.head()
	if !ok {
		if x.request.Context().Err() == nil {
			http.Error(w, "no answer: the module or the server has ended", http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	leaving(w.Header(), headers)
	select {
	case <-fed:
	default: // the rest of the body must not be taken for the next request
		if x.request.ProtoMajor == 1 {
			w.Header().Set("connection", "close")
		}
	}
	w.WriteHeader(status(headers))
	control := http.NewResponseController(w)
	buffer := make([]byte, 16<<10)
	for {
		n, err := x.client.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
				x.client.Close()
				return false
			}
			_ = control.Flush() // a writer that cannot flush sends at its end
		}
		if err == io.EOF {
			for _, line := range x.client.lastLines() {
				w.Header().Add(http.TrailerPrefix+line[0], line[1])
			}
			return true
		}
		if err != nil {
			return false
		}
	}
}
