package resp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The quick way must not tell apart what the scan would not, nor take what it refuses.
func FuzzIntegersReadAsTheScanDoes(f *testing.F) {
	for _, seed := range []string{
		"*6\r\n:1\r\n:1796124187000\r\n:1\r\n:9999\r\n:75\r\n:-1\r\n", "*1\r\n:0\r\n", "*1\r\n:-0\r\n", "*2\r\n:1\r\n", "*1\r\n:+1\r\n",
		"*1\r\n:007\r\n", "*1\r\n:\r\n", "*1\r\n:-\r\n", "*1\r\n:1x\r\n", "*1\r\n:1\n", "*1\r\n:1\r", "*1\r\n$1\r\n1\r\n", "*1\r\n*1\r\n:1\r\n",
		"*0\r\n", "*-1\r\n", "*9\r\n:1\r\n", "*1\r\n:999999999999999999\r\n", "*1\r\n:9999999999999999999\r\n", "*1\r\n:9223372036854775807\r\n:1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var quick Decoder
		got, size := quick.integers(b)
		if size == 0 {
			return
		}
		slow := Decoder{buf: b}
		slow.scan.searched = 1 // not the zero scan, so the quick way is not tried; the first byte ends no line
		want, err := slow.Next()
		if err != nil {
			t.Fatalf("the scan refuses %q: %v", b, err)
		}
		if diff := cmp.Diff(want, got); diff != "" || slow.start != size {
			t.Fatalf("%q: %d bytes, the scan takes %d (-scan +quick):\n%s", b, size, slow.start, diff)
		}
	})
}

func TestIntegersTakesTheUsualReply(t *testing.T) {
	var d Decoder
	const reply = "*6\r\n:1\r\n:1796124187000\r\n:1\r\n:9999\r\n:75\r\n:-1\r\n"
	v, size := d.integers([]byte(reply + "*6\r\n"))
	if size != len(reply) || len(v.Elems) != 6 || v.Elems[1].Int != 1796124187000 || v.Elems[5].Int != -1 {
		t.Fatalf("%d bytes, %+v", size, v)
	}
}
