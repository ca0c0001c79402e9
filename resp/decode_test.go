package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routelimit/resp"
)

func integer(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Int: n} }
func bulk(s string) resp.Value   { return resp.Value{Kind: resp.BulkString, Text: []byte(s)} }
func array(e ...resp.Value) resp.Value {
	return resp.Value{Kind: resp.Array, Elems: e}
}

// complete lists one reply of each shape.
var complete = []struct {
	wire string
	want resp.Value
}{
	{"+OK\r\n", resp.Value{Kind: resp.SimpleString, Text: []byte("OK")}},
	{"+\r\n", resp.Value{Kind: resp.SimpleString}},
	{"-ERR no\r\n", resp.Value{Kind: resp.Error, Text: []byte("ERR no")}},
	{":0\r\n", integer(0)},
	{":-7\r\n", integer(-7)},
	{":+7\r\n", integer(7)},
	{":9223372036854775807\r\n", integer(math.MaxInt64)},
	{":-9223372036854775808\r\n", integer(math.MinInt64)},
	{"$3\r\nabc\r\n", bulk("abc")},
	{"$0\r\n\r\n", bulk("")},
	{"$4\r\n\r\n\r\n\r\n", bulk("\r\n\r\n")},
	{"$-1\r\n", resp.Value{Kind: resp.BulkString, Null: true}},
	{"*0\r\n", array()},
	{"*-1\r\n", resp.Value{Kind: resp.Array, Null: true}},
	{"*2\r\n:1\r\n$1\r\na\r\n", array(integer(1), bulk("a"))},
	{"*3\r\n:1\r\n$-1\r\n-LOADING\r\n", array(integer(1), resp.Value{Kind: resp.BulkString, Null: true},
		resp.Value{Kind: resp.Error, Text: []byte("LOADING")})},
	{"*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n:2\r\n", array(array(integer(1), array()), array(integer(2)))},
	{"*1\r\n*1\r\n*1\r\n*1\r\n:4\r\n", array(array(array(array(integer(4)))))},
	{"*6\r\n:1\r\n:1764584892123\r\n:1\r\n:9\r\n:60000\r\n:0\r\n",
		array(integer(1), integer(1764584892123), integer(1), integer(9), integer(60000), integer(0))},
}

func TestDecodeReadsEveryKind(t *testing.T) {
	for _, tt := range complete {
		t.Run(fmt.Sprintf("%q", tt.wire), func(t *testing.T) {
			var d resp.Decoder
			d.Write([]byte(tt.wire))
			got, err := d.Next()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if _, err := d.Next(); err != resp.ErrShort || d.Buffered() != 0 {
				t.Errorf("after the reply: %v and %d bytes, want ErrShort and 0", err, d.Buffered())
			}
		})
	}
}

func TestDecodeCutAtEveryByteIsShortThenTheSame(t *testing.T) {
	for _, tt := range complete {
		for cut := range len(tt.wire) {
			var d resp.Decoder
			d.Write([]byte(tt.wire[:cut]))
			if v, err := d.Next(); err != resp.ErrShort {
				t.Fatalf("%q cut at %d: %v, %v, want ErrShort", tt.wire, cut, v, err)
			}
			if d.Buffered() != cut {
				t.Errorf("%q cut at %d: %d bytes buffered", tt.wire, cut, d.Buffered())
			}
			d.Write([]byte(tt.wire[cut:]))
			got, err := d.Next()
			if err != nil {
				t.Fatalf("%q cut at %d: %v", tt.wire, cut, err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%q cut at %d (-want +got):\n%s", tt.wire, cut, diff)
			}
		}
	}
}

func TestDecodeStreamInChunksOfEverySizeKeepsTheOrder(t *testing.T) {
	var stream []byte
	for _, tt := range complete {
		stream = append(stream, tt.wire...)
	}
	for size := 1; size <= len(stream); size++ {
		var d resp.Decoder
		next := 0
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			d.Write(rest[:n])
			rest = rest[n:]
			for {
				v, err := d.Next()
				if err == resp.ErrShort {
					break
				}
				if err != nil {
					t.Fatalf("chunks of %d: reply %d: %v", size, next, err)
				}
				if diff := cmp.Diff(complete[next].want, v, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("chunks of %d: reply %d (-want +got):\n%s", size, next, diff)
				}
				next++
			}
		}
		if next != len(complete) {
			t.Fatalf("chunks of %d: %d replies, want %d", size, next, len(complete))
		}
	}
}

func TestDecodeRefusesWhatIsNoReplyAndSaysWhere(t *testing.T) {
	long := strings.Repeat("x", resp.MaxReply)
	for _, tt := range []struct {
		what, wire, reason string
		offset             int
	}{
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n", "'H' begins no reply", 0},
		{"RESP3 map", "%1\r\n+a\r\n:1\r\n", "'%' begins no reply", 0},
		{"RESP3 null", "_\r\n", "'_' begins no reply", 0},
		{"only a line end", "\r\n", `'\r' begins no reply`, 0},
		{"no integer", ":abc\r\n", `"abc" is no integer`, 1},
		{"empty integer", ":\r\n", `"" is no integer`, 1},
		{"only a sign", ":-\r\n", `"-" is no integer`, 1},
		{"fraction", ":1.5\r\n", `"1.5" is no integer`, 1},
		{"integer over 64 bits", ":9223372036854775808\r\n", "is no integer", 1},
		{"integer under 64 bits", ":-9223372036854775809\r\n", "is no integer", 1},
		{"integer without end", ":" + strings.Repeat("1", 30), "a line is too long", 21},
		{"integer of 21 digits", ":" + strings.Repeat("1", 21) + "\r\n", "a line is too long", 21},
		{"length below -1", "$-2\r\n", "length -2 is negative", 1},
		{"count below -1", "*-2\r\n", "length -2 is negative", 1},
		{"bulk longer than said", "$3\r\nabcd\r\n", "does not end", 7},
		{"bulk with a bare line feed", "$3\r\nabc\n\n", "does not end", 7},
		{"bulk with a bare return", "$3\r\nabc\rX", "does not end", 7},
		{"line feed alone", "+OK\n", `"\n" alone`, 3},
		{"return alone", "+OK\rX", "is not followed by", 4},
		{"bulk over the cap", "$65535\r\n", "larger than 65536 bytes", 1},
		{"bulk of 5 GB", "$5000000000\r\n", "larger than 65536 bytes", 1},
		{"array over the cap", "*21846\r\n", "larger than 65536 bytes", 1},
		{"array of 2^63-1", "*9223372036854775807\r\n", "larger than 65536 bytes", 1},
		{"line over the cap", "+" + long, "a line is too long", resp.MaxReply - 2},
		{"line one over the cap", "+" + long[3:] + "x\r\n", "a line is too long", resp.MaxReply - 2},
		{"elements left over the cap", "*2\r\n+" + long[:resp.MaxReply-8] + "\r\n+\r\n", "goes on beyond 65536 bytes", resp.MaxReply - 1},
		{"five deep", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "more than 4 deep", 16},
		{"error inside an array", "*2\r\n:1\r\n?", "'?' begins no reply", 8},
		{"sum of elements over the cap", "*3\r\n$40000\r\n" + long[:40000] + "\r\n$30000\r\n", "larger than 65536 bytes", 40015},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for _, size := range []int{len(tt.wire), 1} {
				var d resp.Decoder
				var err error
				for rest := []byte(tt.wire); len(rest) > 0 && (err == nil || err == resp.ErrShort); rest = rest[size:] {
					d.Write(rest[:size])
					_, err = d.Next()
				}
				var broken *resp.ProtocolError
				if !errors.As(err, &broken) {
					t.Fatalf("chunks of %d: got %v, want a ProtocolError", size, err)
				}
				if !strings.Contains(broken.Reason, tt.reason) || broken.Offset != tt.offset {
					t.Errorf("chunks of %d: %q at %d, want %q at %d", size, broken.Reason, broken.Offset, tt.reason, tt.offset)
				}
			}
		})
	}
}

func TestDecodeTakesAReplyOfExactlyTheCap(t *testing.T) {
	wire := "+" + strings.Repeat("x", resp.MaxReply-3) + "\r\n"
	var d resp.Decoder
	d.Write([]byte(wire))
	if v, err := d.Next(); err != nil || len(v.Text) != resp.MaxReply-3 {
		t.Errorf("got %d bytes and %v", len(v.Text), err)
	}
	body := strings.Repeat("x", resp.MaxReply-10)
	d.Write([]byte("$65526\r\n" + body + "\r\n"))
	if v, err := d.Next(); err != nil || string(v.Text) != body {
		t.Errorf("got %d bytes and %v", len(v.Text), err)
	}
}

func TestDecodeStaysBrokenUntilReset(t *testing.T) {
	var d resp.Decoder
	d.Write([]byte("+OK\r\n?\r\n"))
	if _, err := d.Next(); err != nil {
		t.Fatal(err)
	}
	_, first := d.Next()
	d.Write([]byte("+OK\r\n"))
	v, again := d.Next()
	var broken *resp.ProtocolError
	if !errors.As(first, &broken) || again != first || v.Kind != 0 || d.Buffered() != 0 {
		t.Errorf("got %v, then %v, %v and %d bytes; want the same error and no value", first, v, again, d.Buffered())
	}
	d.Reset()
	d.Write([]byte(":1\r\n"))
	if v, err := d.Next(); err != nil || v.Int != 1 {
		t.Errorf("after Reset: %v, %v", v, err)
	}
}

func TestDecodeResetForgetsAHalfReadReply(t *testing.T) {
	var d resp.Decoder
	for _, half := range []string{"*2\r\n:1\r\n", "$10\r\nabc", "+OK\r", ":12"} {
		d.Write([]byte(half))
		if _, err := d.Next(); err != resp.ErrShort {
			t.Fatalf("%q: %v", half, err)
		}
		d.Reset()
		d.Write([]byte(":7\r\n"))
		if v, err := d.Next(); err != nil || v.Kind != resp.Integer || v.Int != 7 {
			t.Errorf("after %q and Reset: %v, %v", half, v, err)
		}
	}
}

func TestDecodeADeclaredLengthAllocatesNothingBeforeItsBytes(t *testing.T) {
	for _, head := range []string{"$65000\r\n", "*20000\r\n", "*5000\r\n*5000\r\n*5000\r\n*5000\r\n"} {
		wire := []byte(head)
		var d resp.Decoder
		if n := testing.AllocsPerRun(100, func() {
			d.Reset()
			d.Write(wire)
			if _, err := d.Next(); err != resp.ErrShort {
				t.Fatalf("%q: %v", head, err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations, want 0", head, n)
		}
	}
}

func TestDecodeInSteadyStateAllocatesNothing(t *testing.T) {
	chunk := bytes.Repeat([]byte("*6\r\n:1\r\n:1764584892123\r\n:1\r\n:9\r\n:60000\r\n:0\r\n"), 50)
	first, second := chunk[:777], chunk[777:]
	var d resp.Decoder
	if n := testing.AllocsPerRun(100, func() {
		replies := 0
		for _, part := range [][]byte{first, second} {
			d.Write(part)
			for _, err := d.Next(); err == nil; _, err = d.Next() {
				replies++
			}
		}
		if replies != 50 {
			t.Fatalf("%d replies, want 50", replies)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestDecodeWriteCopiesTheChunk(t *testing.T) {
	var d resp.Decoder
	chunk := []byte("+OK\r\n")
	d.Write(chunk)
	copy(chunk, "-NO\r\n")
	if v, err := d.Next(); err != nil || string(v.Text) != "OK" {
		t.Errorf("got %q, %v", v.Text, err)
	}
}
