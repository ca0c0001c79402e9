package standalone

import (
	"io"
	"sync"

	hosttest "routelimit/host-test"
)

// passage is what has come out of the filter in one direction. The worker fills it, and a goroutine that may wait for its
// peer empties it.
type passage struct {
	mu       sync.Mutex
	changed  sync.Cond
	begun    bool
	headers  hosttest.Headers
	trailers hosttest.Headers
	waiting  []byte
	ended    bool // nothing more comes, and all has come
	over     bool // nothing more comes
}

// mostWaiting is held of a body for a peer that is slower than the other one.
const mostWaiting = 256 << 10

func newPassage() *passage {
	p := &passage{}
	p.changed.L = &p.mu
	return p
}

// put adds what came out. over says that the stream has ended.
func (p *passage) put(m *hosttest.Message, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.headers, p.trailers = m.Started, m.Headers, m.Trailers
	if !p.over {
		p.waiting = append(p.waiting, m.Body...)
	}
	p.ended = m.Ended
	p.over = p.over || over || m.Ended
	p.changed.Broadcast()
}

// head waits for the headers; false if none come.
func (p *passage) head() (hosttest.Headers, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.begun && !p.over {
		p.changed.Wait()
	}
	return p.headers, p.begun
}

// empty says whether the message has ended without a body.
func (p *passage) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended && len(p.waiting) == 0
}

// Read implements io.Reader: the body. It ends with io.ErrUnexpectedEOF where the stream was cut.
func (p *passage) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) == 0 && !p.over {
		p.changed.Wait()
	}
	if len(p.waiting) == 0 {
		if p.ended {
			return 0, io.EOF
		}
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(b, p.waiting)
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		p.waiting = nil
	}
	p.changed.Broadcast()
	return n, nil
}

// Close implements io.Closer: what still comes is for nobody.
func (p *passage) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over, p.waiting = true, nil
	p.changed.Broadcast()
	return nil
}

// room waits until the reader has kept up, or is gone.
func (p *passage) room() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) >= mostWaiting && !p.over {
		p.changed.Wait()
	}
}

// lastLines returns the trailers, once Read has said io.EOF.
func (p *passage) lastLines() hosttest.Headers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trailers
}

// wait returns when the stream has ended or the reader is gone.
func (p *passage) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over {
		p.changed.Wait()
	}
}
