package accesslog

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Log is what became of one log.
type Log struct {
	Name       string
	Layout     *Layout // nil if its format was not found
	Lines      int64   // all but empty ones
	Requests   int64   // that were handed on
	Unreadable int64
	Faults     []Fault // the first few
	// Late is how many requests stood too far behind later ones to be put into
	// their place, so that they count as later than they were: by MostLateMS at most.
	Late       int64
	MostLateMS int64
	// Unfit are the fields of Options.Fields whose place a log of this format cannot
	// have, Unmet those that no line had a value for.
	Unfit, Unmet []Field
	// Err is why reading ended before the log did.
	Err error
}

// Fault is a line that cannot be read.
type Fault struct {
	Line int64
	Why  string
	Text string // cut, and with escapes for what a terminal would obey
}

// maxFaults are kept of each log.
const maxFaults = 5

// Read hands the requests of all logs to play, in the order of time, until ctx
// ends. It returns what became of each log. The error is ctx's or play's, and
// there is nothing else then.
func Read(ctx context.Context, inputs []Input, o Options, play func(*Entry) error) ([]*Log, error) {
	until, stop := context.WithCancel(ctx)
	defer stop()
	streams := make([]*stream, len(inputs))
	for i, in := range inputs {
		streams[i] = &stream{log: &Log{Name: in.Name}, batches: make(chan []*Entry, 4), done: until.Done()}
		go streams[i].read(in, &o)
	}
	if err := merge(streams, play); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	logs := make([]*Log, len(streams))
	for i, s := range streams {
		logs[i] = s.log // its reader has ended
	}
	return logs, nil
}

// stream is one log on its way.
type stream struct {
	log     *Log
	batches chan []*Entry
	done    <-chan struct{}
	batch   []*Entry
}

// batchSize keeps the two goroutines from meeting at each entry.
const batchSize = 512

// read reads a log to its end.
func (s *stream) read(in Input, o *Options) {
	defer close(s.batches)
	text, err := o.plain(in)
	if err != nil {
		s.log.Err = err
		return
	}
	from := newLines(text)
	parser, err := o.detect(from.sample())
	if err != nil {
		s.log.Err = err
		return
	}
	s.log.Layout = parser.layout
	ordered := &order{emit: s.send, outlier: func(w waiting) { s.fault(w.line, errOrder, "") }}
	for number := int64(1); !s.ended(); number++ {
		line, err := from.next()
		if err == io.EOF {
			break
		}
		if err != nil && err != errLong {
			s.log.Err = fmt.Errorf("line %d: %w; only what comes before it was read", number, err)
			break
		}
		if err == nil && len(line) == 0 {
			continue
		}
		s.log.Lines++
		text := string(line)
		var entry *Entry
		if err == nil {
			entry, err = parser.parse(text)
		}
		if err != nil {
			s.fault(number, err, text)
			continue
		}
		entry.order = int(number)
		ordered.add(waiting{entry, number, len(text)})
	}
	ordered.finish()
	s.flush()
	s.log.Unfit, s.log.Unmet = parser.unfit, parser.unmet()
	s.log.Late, s.log.MostLateMS = ordered.late, ordered.mostLate
}

// ended says whether nobody wants more.
func (s *stream) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *stream) send(e *Entry) {
	s.log.Requests++
	s.batch = append(s.batch, e)
	if len(s.batch) == batchSize {
		s.flush()
	}
}

func (s *stream) flush() {
	if len(s.batch) == 0 {
		return
	}
	select {
	case s.batches <- s.batch:
	case <-s.done:
	}
	s.batch = make([]*Entry, 0, batchSize)
}

func (s *stream) fault(line int64, why error, text string) {
	s.log.Unreadable++
	if len(s.log.Faults) < maxFaults {
		s.log.Faults = append(s.log.Faults, Fault{line, why.Error(), show(text)})
	}
}

// show cuts a line, and writes out what a terminal would take for a command.
func show(line string) string {
	const most = 120
	end := ""
	if len(line) > most {
		line, end = line[:most], "…"
	}
	shown := strconv.QuoteToGraphic(line)
	return strings.ReplaceAll(shown[1:len(shown)-1], `\"`, `"`) + end
}
