package resp

import (
	"strings"
	"testing"
)

// A scan that went back, or began again with each chunk, would need 2^31 steps for these.
func TestScanOfOneByteChunksNeverGoesBack(t *testing.T) {
	for name, wire := range map[string]string{
		"a long line":       "+" + strings.Repeat("x", MaxReply-3) + "\r\n",
		"a long string":     "$65000\r\n" + strings.Repeat("\r", 65000) + "\r\n",
		"many elements":     "*21000\r\n" + strings.Repeat("+\r\n", 21000),
		"nested":            "*4000\r\n" + strings.Repeat("*1\r\n:1\r\n", 4000),
		"line ends missing": "-" + strings.Repeat("x", MaxReply-3) + "\r",
	} {
		var s scan
		all := []byte(wire)
		pos, searched := 0, 0
		for n := 1; n <= len(wire); n++ {
			err := s.advance(all[:n])
			if s.pos < pos || s.searched < searched {
				t.Fatalf("%s: at byte %d from pos %d, searched %d back to %d, %d", name, n, pos, searched, s.pos, s.searched)
			}
			if s.body == 0 && n-s.searched > 2 {
				t.Fatalf("%s: at byte %d only %d bytes were searched", name, n, s.searched)
			}
			pos, searched = s.pos, s.searched
			if err != nil && err != ErrShort {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
