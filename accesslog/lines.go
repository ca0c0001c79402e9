package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is read, in bytes, and the size of buffers.
const maxLine = 64 << 10

// lines cuts a stream into lines, in memory of a fixed size.
type lines struct{ from *bufio.Reader }

func newLines(r io.Reader) lines {
	from := bufio.NewReaderSize(r, maxLine)
	const mark = "\ufeff" // that some editors put before a text
	if head, _ := from.Peek(len(mark)); string(head) == mark {
		from.Discard(len(mark))
	}
	return lines{from}
}

// next returns a line without its end, good until the following call, or errLong
// for one that was passed over. At the end it is io.EOF.
func (l lines) next() ([]byte, error) {
	line, err := l.from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.from.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, errLong
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// sample returns the first whole lines without taking them.
func (l lines) sample() []string {
	head, _ := l.from.Peek(maxLine)
	const most = 1000
	var all []string
	for len(head) > 0 && len(all) < most {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended && len(head) == maxLine && len(all) > 0 {
			break // cut off
		}
		if line = bytes.TrimRight(line, "\r"); len(line) > 0 {
			all = append(all, string(line))
		}
		head = rest
	}
	return all
}
