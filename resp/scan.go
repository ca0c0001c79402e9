package resp

import (
	"bytes"

	"routelimit/plainfmt"
)

// scan finds where a reply ends. It goes over each byte once and can stop and go on anywhere. All places count from the
// reply's first byte.
type scan struct {
	pos      int           // of the next head, or, once all was found, the end
	searched int           // up to here the line that begins at pos does not end
	body     int           // end of the bulk string whose content comes now, with its "\r\n"; 0: a head comes
	depth    int           // of open arrays
	left     [MaxDepth]int // elements that each still lacks
	elements int           // of all arrays so far
}

// maxNumber is how long the text of an integer can be: a sign and 19 digits.
const maxNumber = 20

// shortest is the size of "+\r\n", the shortest value.
const shortest = 3

// advance goes on with b, the reply's bytes so far. nil: the reply is complete and ends at pos.
func (s *scan) advance(b []byte) error {
	for {
		done, err := s.step(b)
		if done || err != nil {
			return err
		}
	}
}

// step takes a head, with the line after it, or a bulk string's content.
func (s *scan) step(b []byte) (done bool, err error) {
	if s.body > 0 {
		return s.content(b)
	}
	if s.pos+shortest > MaxReply {
		return false, s.broken(s.pos, plainfmt.Sprintf("the reply goes on beyond %d bytes", MaxReply))
	}
	if s.pos == len(b) {
		return false, ErrShort
	}
	kind := Kind(b[s.pos])
	end, err := s.line(b, kind)
	if err != nil {
		return false, err
	}
	line := b[s.pos+1 : end]
	switch kind {
	case SimpleString, Error:
		return s.closed(end + 2), nil
	}
	n, ok := parseInt(line)
	if !ok {
		return false, s.broken(s.pos+1, plainfmt.Sprintf("%q is no integer of 64 bits", line))
	}
	if kind == Integer {
		return s.closed(end + 2), nil
	}
	if n < -1 {
		return false, s.broken(s.pos+1, plainfmt.Sprintf("length %d is negative", n))
	}
	if n == -1 || n == 0 && kind == Array {
		return s.closed(end + 2), nil
	}
	return false, s.open(kind, n, end+2)
}

// open begins a bulk string or an array of n elements after its head. What cannot fit into a reply is refused at once.
func (s *scan) open(kind Kind, n int64, after int) error {
	size := n + 2 // of the content
	if kind == Array {
		size = n * shortest
	}
	if n > MaxReply || int64(after)+size > MaxReply {
		return s.broken(s.pos+1, plainfmt.Sprintf("length %d makes the reply larger than %d bytes", n, MaxReply))
	}
	if kind == BulkString {
		s.body = after + int(size)
		return nil
	}
	if s.depth == MaxDepth {
		return s.broken(s.pos, plainfmt.Sprintf("arrays are nested more than %d deep", MaxDepth))
	}
	s.left[s.depth] = int(n)
	s.depth++
	s.elements += int(n)
	s.pos, s.searched = after, after
	return nil
}

func (s *scan) content(b []byte) (done bool, err error) {
	if len(b) < s.body {
		return false, ErrShort
	}
	if b[s.body-2] != '\r' || b[s.body-1] != '\n' {
		return false, s.broken(s.body-2, `a bulk string does not end with "\r\n" where its length says`)
	}
	end := s.body
	s.body = 0
	return s.closed(end), nil
}

// closed notes that a value ended, and with it perhaps arrays; done when none is open.
func (s *scan) closed(end int) (done bool) {
	s.pos, s.searched = end, end
	for s.depth > 0 {
		s.left[s.depth-1]--
		if s.left[s.depth-1] > 0 {
			return false
		}
		s.depth--
	}
	return true
}

// line finds the "\r\n" of the line that begins at pos with its type byte, and returns the place of its "\r".
func (s *scan) line(b []byte, kind Kind) (end int, err error) {
	last := MaxReply - 2 // where "\r" can stand at the latest
	switch kind {
	case SimpleString, Error:
	case Integer, BulkString, Array:
		last = min(last, s.pos+1+maxNumber)
	default:
		return 0, s.broken(s.pos, plainfmt.Sprintf("%q begins no reply", byte(kind)))
	}
	at := bytes.IndexAny(b[s.searched:min(len(b), last+1)], "\r\n")
	if at < 0 {
		if len(b) > last {
			return 0, s.broken(last, "a line is too long")
		}
		s.searched = len(b)
		return 0, ErrShort
	}
	s.searched += at
	switch {
	case b[s.searched] == '\n':
		return 0, s.broken(s.searched, `a line ends with "\n" alone`)
	case s.searched+1 == len(b):
		return 0, ErrShort
	case b[s.searched+1] != '\n':
		return 0, s.broken(s.searched+1, `"\r" is not followed by "\n"`)
	}
	return s.searched, nil
}

func (s *scan) broken(offset int, reason string) error {
	return &ProtocolError{Offset: offset, Reason: reason}
}

// parseInt reads an integer of 64 bits: an optional sign and digits.
func parseInt(text []byte) (int64, bool) {
	digits, negative := text, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		digits, negative = text[1:], text[0] == '-'
	}
	if len(digits) == 0 || len(digits) >= maxNumber {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}
