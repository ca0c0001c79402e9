package resp_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"routelimit/resp"
)

// decodeAll reads everything from a stream in chunks of these sizes, over and over, and copies the values.
func decodeAll(stream, sizes []byte) (values []resp.Value, err error) {
	var d resp.Decoder
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		d.Write(stream[:n])
		stream = stream[n:]
		for {
			v, err := d.Next()
			if errors.Is(err, resp.ErrShort) {
				break
			}
			if err != nil {
				return values, err
			}
			values = append(values, clone(v))
		}
	}
	return values, nil
}

func clone(v resp.Value) resp.Value {
	v.Text = append([]byte(nil), v.Text...)
	elems := v.Elems
	v.Elems = nil
	for _, e := range elems {
		v.Elems = append(v.Elems, clone(e))
	}
	return v
}

// The same stream gives the same replies and the same error however it is cut, and never a trap.
func FuzzDecode(f *testing.F) {
	for _, tt := range complete {
		for cut := range len(tt.wire) + 1 {
			f.Add([]byte(tt.wire[:cut]), []byte{0})
		}
		f.Add([]byte(tt.wire+tt.wire), []byte{2, 0, 5})
	}
	for _, seed := range []string{"*1\r\n", "*-2\r\n", "$-0\r\n", "*+1\r\n:1\r\n", "$9999999999999999999\r\n", "*2\r\n*2\r\n", "+\r\r\n", ":\r\n", "\x00"} {
		f.Add([]byte(seed), []byte{1})
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		whole, wholeErr := decodeAll(stream, nil)
		parts, partsErr := decodeAll(stream, sizes)
		if diff := cmp.Diff(whole, parts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("values differ when cut (-whole +parts):\n%s", diff)
		}
		if diff := cmp.Diff(wholeErr, partsErr); diff != "" {
			t.Errorf("error differs when cut (-whole +parts):\n%s", diff)
		}
	})
}

func FuzzClassifyError(f *testing.F) {
	f.Add([]byte("ERR Error running script (call to f_1): @user_script:5: -READONLY x"))
	f.Add([]byte("user_script - - "))
	f.Fuzz(func(t *testing.T, text []byte) {
		if resp.ClassifyError(text).String() == "" {
			t.Error("a kind without a name")
		}
	})
}

func TestDecodeGivesBackWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire []byte
		var want []resp.Value
		for range rapid.IntRange(1, 5).Draw(t, "replies") {
			v := drawValue(t, 0)
			want = append(want, v)
			wire = appendValue(wire, v)
		}
		got, err := decodeAll(wire, rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "sizes"))
		if err != nil {
			t.Fatalf("%q: %v", wire, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", wire, diff)
		}
	})
}

func drawValue(t *rapid.T, depth int) resp.Value {
	kinds := []resp.Kind{resp.SimpleString, resp.Error, resp.Integer, resp.BulkString, resp.Array}
	v := resp.Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch v.Kind {
	case resp.SimpleString, resp.Error:
		v.Text = []byte(rapid.StringMatching(`[^\r\n]{0,20}`).Draw(t, "line"))
	case resp.Integer:
		v.Int = rapid.Int64().Draw(t, "integer")
	case resp.BulkString:
		if v.Null = rapid.Bool().Draw(t, "null"); !v.Null {
			v.Text = rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "bulk")
		}
	case resp.Array:
		if v.Null = rapid.Bool().Draw(t, "null"); v.Null || depth == resp.MaxDepth-1 {
			break
		}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			v.Elems = append(v.Elems, drawValue(t, depth+1))
		}
	}
	return v
}

func appendValue(dst []byte, v resp.Value) []byte {
	switch {
	case v.Null:
		return append(dst, byte(v.Kind), '-', '1', '\r', '\n')
	case v.Kind == resp.BulkString:
		return resp.AppendBulk(dst, v.Text)
	case v.Kind == resp.Array:
		dst = resp.AppendArray(dst, len(v.Elems))
		for _, e := range v.Elems {
			dst = appendValue(dst, e)
		}
		return dst
	case v.Kind == resp.Integer:
		// The head of an array is an integer behind another type byte.
		at := len(dst)
		dst = resp.AppendArray(dst, int(v.Int))
		dst[at] = ':'
		return dst
	}
	dst = append(dst, byte(v.Kind))
	dst = append(dst, v.Text...)
	return append(dst, '\r', '\n')
}
