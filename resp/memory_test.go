package resp

import (
	"bytes"
	"testing"
)

// A stream lasts for weeks: what replies have used makes room for the next, also where no chunk ends with a reply.
func TestDecoderMemoryStaysLevelOverAnEndlessStream(t *testing.T) {
	reply := []byte("*2\r\n:1\r\n:1729728000123\r\n")
	shifted := append(append([]byte(nil), reply[5:]...), reply[:5]...)
	var d Decoder
	d.Write(reply[:5])
	for i := range 100_000 {
		d.Write(shifted)
		if _, err := d.Next(); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
		if _, err := d.Next(); err != ErrShort || d.Buffered() != 5 {
			t.Fatalf("after reply %d: %v and %d bytes", i, err, d.Buffered())
		}
	}
	if cap(d.buf) > 1024 {
		t.Errorf("the buffer grew to %d bytes", cap(d.buf))
	}
}

func TestDecoderLetsGoOfABufferThatABurstMadeLarge(t *testing.T) {
	var d Decoder
	d.Write(bytes.Repeat([]byte("+OK\r\n"), maxIdle))
	for _, err := d.Next(); err == nil; _, err = d.Next() {
	}
	d.Write([]byte("+OK\r\n"))
	if cap(d.buf) > maxIdle {
		t.Errorf("the buffer keeps %d bytes for 5", cap(d.buf))
	}
}
