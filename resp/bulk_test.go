package resp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The quick way must not tell apart what the scan would not, nor take what it refuses.
func FuzzBulkReadsAsTheScanDoes(f *testing.F) {
	for _, seed := range []string{
		"$3\r\nabc\r\n", "$0\r\n\r\n", "$1\r\n\r\r\n", "$3\r\nabc\r\n$1", "$03\r\nabc\r\n", "$-1\r\n", "$-0\r\n\r\n", "$+1\r\na\r\n", "$\r\n\r\n",
		"$1x\r\na\r\n", "$1\na\r\n", "$1\r\nab\r\n", "$1\r\na\n\r", "$12\r\nabc\r\n", "$999\r\n" + strings.Repeat("x", 999) + "\r\n",
		"$1000\r\n" + strings.Repeat("x", 1000) + "\r\n", "*1\r\n$1\r\na\r\n", ":1\r\n", "$1\r\na\r", "$1\r\na",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, size := bulk(b)
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

func TestBulkTakesTheUsualReply(t *testing.T) {
	reply := "$30\r\n" + strings.Repeat("\r", 30) + "\r\n"
	v, size := bulk([]byte(reply + "$30\r\n"))
	if size != len(reply) || len(v.Text) != 30 {
		t.Fatalf("%d bytes, %+v", size, v)
	}
}
