package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// HTTP asks for one path again and again as different callers, and wants one status.
type HTTP struct {
	Path   string
	Header string // that names the caller
	Caller func() string
	Status int
}

// Append appends a GET request.
func (h *HTTP) Append(b []byte) []byte {
	b = append(b, "GET "...)
	b = append(b, h.Path...)
	b = append(b, " HTTP/1.1\r\nhost: bench\r\n"...)
	b = append(b, h.Header...)
	b = append(b, ": "...)
	b = append(b, h.Caller()...)
	return append(b, "\r\n\r\n"...)
}

// maxAnswer bounds what a server may send for an answer.
const maxAnswer = 64 << 10

var endOfHead = []byte("\r\n\r\n")

// Read reads an answer with a content-length, as Envoy sends them here.
func (h *HTTP) Read(b []byte) (n int, last bool, err error) {
	at := bytes.Index(b, endOfHead)
	if at < 0 {
		if len(b) > maxAnswer {
			return 0, false, fmt.Errorf("an answer's head is longer than %d bytes", maxAnswer)
		}
		return 0, false, nil
	}
	head := b[:at]
	status, head, _ := bytes.Cut(head, []byte("\r\n"))
	if len(status) < 12 || string(status[:9]) != "HTTP/1.1 " || string(status[9:12]) != strconv.Itoa(h.Status) {
		return 0, false, fmt.Errorf("a request was answered %.60q, not %d; look into the limiter", status, h.Status)
	}
	length := -1
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > maxAnswer {
				return 0, false, fmt.Errorf("an answer has content-length %.20q; look into the limiter", value)
			}
		case bytes.EqualFold(name, []byte("connection")):
			last = bytes.EqualFold(value, []byte("close"))
		}
	}
	if length < 0 {
		return 0, false, fmt.Errorf("an answer has no content-length; let the upstream send one")
	}
	n = at + len(endOfHead) + length
	if n > len(b) {
		return 0, false, nil
	}
	return n, last, nil
}
