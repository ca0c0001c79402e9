package resp

import (
	"errors"

	"routelimit/plainfmt"
)

const (
	// MaxReply is the size in bytes of the largest reply that is read, its heads included.
	MaxReply = 64 << 10
	// MaxDepth is how many arrays may stand in one another.
	MaxDepth = 4
)

// maxIdle is how much memory an empty Decoder keeps for the next chunks.
const maxIdle = 256 << 10

// ErrShort says that the bytes are valid so far and that the reply goes on.
var ErrShort = errors.New("the reply is not complete; write the next bytes and ask again")

// ProtocolError says that the bytes are no RESP2, or more of it than is read. The stream cannot be used any more.
type ProtocolError struct {
	Offset int // of the byte at fault, from the first byte of its reply
	Reason string
}

func (e *ProtocolError) Error() string {
	return plainfmt.Sprintf("byte %d of the reply: %s; close the connection and check that a Redis answers there", e.Offset, e.Reason)
}

// Decoder reads replies from the chunks of a stream. The zero value is ready.
//
// What it does for a chunk is proportional to the chunk, however the stream is cut, and it allocates only to grow: a
// length in a head allocates nothing before the bytes are there.
type Decoder struct {
	buf     []byte
	start   int // of the reply that is read now
	scan    scan
	broken  *ProtocolError
	storage []Value // the elements of the last reply
}

// Write takes a copy of the next bytes. After a ProtocolError it takes none until Reset.
func (d *Decoder) Write(chunk []byte) {
	if d.broken != nil {
		return
	}
	if d.start > 0 {
		d.buf = d.buf[:copy(d.buf, d.buf[d.start:])]
		d.start = 0
	}
	if len(d.buf) == 0 && cap(d.buf) > maxIdle {
		d.buf = nil
	}
	d.buf = append(d.buf, chunk...)
}

// Next returns the next reply. The error is ErrShort while it is not complete, or a *ProtocolError, again and again
// until Reset.
func (d *Decoder) Next() (Value, error) {
	if d.broken != nil {
		return Value{}, d.broken
	}
	b := d.buf[d.start:]
	if d.scan == (scan{}) {
		if v, size := bulk(b); size > 0 {
			d.start += size
			return v, nil
		}
	}
	if err := d.scan.advance(b); err != nil {
		if broken, ok := err.(*ProtocolError); ok {
			d.broken, d.buf, d.start = broken, nil, 0
		}
		return Value{}, err
	}
	if n := d.scan.elements; cap(d.storage) < n {
		d.storage = make([]Value, n)
	}
	r := reader{rest: b[:d.scan.pos], free: d.storage[:cap(d.storage)]}
	v := r.value()
	d.start += d.scan.pos
	d.scan = scan{}
	return v, nil
}

// bulk reads a bulk string of up to 999 bytes that is there as a whole, which nearly every reply is, in one pass. A size
// of 0 leaves the reply to the scan, which knows all forms and every fault.
func bulk(b []byte) (v Value, size int) {
	if len(b) < 6 || b[0] != '$' {
		return Value{}, 0
	}
	n, at := 0, 1
	for at < 4 && '0' <= b[at] && b[at] <= '9' {
		n = n*10 + int(b[at]-'0')
		at++
	}
	text := at + 2
	size = text + n + 2
	if at == 1 || size > len(b) || b[at] != '\r' || b[at+1] != '\n' || b[size-2] != '\r' || b[size-1] != '\n' {
		return Value{}, 0
	}
	return Value{Kind: BulkString, Text: b[text : text+n : text+n]}, size
}

// Buffered is how many bytes were written that no reply has used yet.
func (d *Decoder) Buffered() int { return len(d.buf) - d.start }

// Reset makes ready for a new stream.
func (d *Decoder) Reset() {
	d.buf, d.start, d.scan, d.broken = d.buf[:0], 0, scan{}, nil
}

// reader builds the value of a reply that scan has found complete and valid.
type reader struct {
	rest []byte
	free []Value // for elements
}

func (r *reader) value() Value {
	v := Value{Kind: Kind(r.rest[0])}
	line := r.line()
	switch v.Kind {
	case SimpleString, Error:
		v.Text = line
	case Integer:
		v.Int, _ = parseInt(line)
	case BulkString:
		n, _ := parseInt(line)
		if v.Null = n < 0; !v.Null {
			v.Text = r.rest[:n:n]
			r.rest = r.rest[n+2:]
		}
	case Array:
		n, _ := parseInt(line)
		if v.Null = n < 0; !v.Null {
			v.Elems, r.free = r.free[:n:n], r.free[n:]
			for i := range v.Elems {
				v.Elems[i] = r.value()
			}
		}
	}
	return v
}

// line takes the rest of a head: what stands between the type byte and "\r\n".
func (r *reader) line() []byte {
	end := 1
	for r.rest[end] != '\r' {
		end++
	}
	line := r.rest[1:end:end]
	r.rest = r.rest[end+2:]
	return line
}
