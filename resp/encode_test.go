package resp_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/resp"
)

func TestEncodeWritesCommandsAsRedisReadsThem(t *testing.T) {
	type name string
	for _, tt := range []struct {
		what string
		got  []byte
		want string
	}{
		{"array head", resp.AppendArray(nil, 3), "*3\r\n"},
		{"empty array", resp.AppendArray(nil, 0), "*0\r\n"},
		{"bulk string", resp.AppendBulk(nil, "PING"), "$4\r\nPING\r\n"},
		{"bulk bytes", resp.AppendBulk(nil, []byte("PING")), "$4\r\nPING\r\n"},
		{"bulk of a string type", resp.AppendBulk(nil, name("a")), "$1\r\na\r\n"},
		{"empty bulk", resp.AppendBulk(nil, ""), "$0\r\n\r\n"},
		{"length counts bytes", resp.AppendBulk(nil, "é"), "$2\r\né\r\n"},
		{"line ends inside", resp.AppendBulk(nil, "a\r\n$1\r\nb"), "$8\r\na\r\n$1\r\nb\r\n"},
		{"integer", resp.AppendBulkInt(nil, -42), "$3\r\n-42\r\n"},
		{"least integer", resp.AppendBulkInt(nil, math.MinInt64), "$20\r\n-9223372036854775808\r\n"},
		{"after what is there", resp.AppendBulk([]byte("x"), "y"), "x$1\r\ny\r\n"},
	} {
		if diff := cmp.Diff(tt.want, string(tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
}

func TestEncodeIntoABigEnoughBufferAllocatesNothing(t *testing.T) {
	buf, key := make([]byte, 0, 256), []byte("rl:{default|ip:192.0.2.1}")
	if n := testing.AllocsPerRun(100, func() {
		buf = resp.AppendArray(buf[:0], 3)
		buf = resp.AppendBulk(buf, "GET")
		buf = resp.AppendBulk(buf, key)
		buf = resp.AppendBulkInt(buf, 1729771200000)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
