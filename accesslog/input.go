package accesslog

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
)

// Input is one log to be read.
type Input struct {
	Name string
	io.Reader
}

// plain is the input's text, decompressed if it is gzip (RFC 1952, section 2.3.1).
func (o *Options) plain(in Input) (io.Reader, error) {
	counted := bufio.NewReaderSize(&counter{in.Reader, o.Progress}, maxLine)
	if magic, _ := counted.Peek(2); string(magic) != "\x1f\x8b" {
		return counted, nil
	}
	unzipped, err := gzip.NewReader(counted)
	if err != nil {
		return nil, fmt.Errorf("%w; the file begins like gzip and is none", err)
	}
	return unzipped, nil
}

// counter tells how many bytes were read.
type counter struct {
	from io.Reader
	told func(int)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.told != nil {
		c.told(n)
	}
	return n, err
}
