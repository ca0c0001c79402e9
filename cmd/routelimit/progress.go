package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// progress is a bar on a terminal that shows how much of the logs was read.
type progress struct {
	out   io.Writer
	total int64 // in bytes; 0: unknown
	read  atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

// startProgress draws nothing where nobody looks.
func startProgress(out io.Writer, total int64) *progress {
	p := &progress{out: out, total: total}
	if !isTerminal(out) {
		return p
	}
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	go p.draw()
	return p
}

func (p *progress) add(bytes int) { p.read.Add(int64(bytes)) }

func (p *progress) draw() {
	defer close(p.ended)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprint(p.out, "\r"+bar(p.read.Load(), p.total)+"\x1b[K")
		case <-p.stop:
			fmt.Fprint(p.out, "\r\x1b[K")
			return
		}
	}
}

// end takes the bar away.
func (p *progress) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.ended
	}
}

// bar is "reading [#####.....]  50%  12.0 of 24.0 MB".
func bar(read, total int64) string {
	const width = 30
	mb := func(n int64) float64 { return float64(n) / 1e6 }
	if total <= 0 {
		return fmt.Sprintf("reading %.1f MB", mb(read))
	}
	done := min(read, total)
	filled := int(width * done / total)
	return fmt.Sprintf("reading [%s%s] %3d%%  %.1f of %.1f MB",
		strings.Repeat("#", filled), strings.Repeat(".", width-filled), 100*done/total, mb(done), mb(total))
}
