package standalone

import (
	"io"
	"log"
	"strings"
	"sync"
	"time"
)

// logger writes lines as Envoy does, so that whoever reads its log can read this one.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logger) line(level, text string) {
	if l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\\n")
	// A log that cannot be written is no reason to serve nobody.
	_, _ = io.WriteString(l.out, time.Now().UTC().Format("[2006-01-02 15:04:05.000]")+"["+level+"][wasm] wasm log: "+text+"\n")
}

// plain is for what net/http says of its clients' connections.
func (l *logger) plain() *log.Logger { return log.New(clientTrouble{l}, "", 0) }

type clientTrouble struct{ *logger }

func (c clientTrouble) Write(b []byte) (int, error) {
	c.line("debug", string(b))
	return len(b), nil
}
