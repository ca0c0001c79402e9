package shim

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lines(p Pairs) [][2]string {
	var all [][2]string
	for name, value := range p.All {
		all = append(all, [2]string{name, value})
	}
	return all
}

func TestPairsReadWhatAppendPairsWrites(t *testing.T) {
	for _, headers := range [][][2]string{
		nil,
		{{":path", "/"}},
		{{"a", ""}, {"", "b"}, {"", ""}},
		{{"cookie", "a=1"}, {"cookie", "b=2"}, {"x", "\x00\xff"}},
	} {
		p := ReadPairs(AppendPairs(nil, headers))
		if diff := cmp.Diff(headers, lines(p)); diff != "" || p.Len() != len(headers) {
			t.Errorf("%q (%d lines): %s", headers, p.Len(), diff)
		}
	}
}

func TestPairsStopWhereTheEncodingIsCut(t *testing.T) {
	headers := [][2]string{{":method", "GET"}, {":path", "/login"}, {"x", "y"}}
	whole := AppendPairs(nil, headers)
	for cut := range whole {
		got := lines(ReadPairs(whole[:cut]))
		if len(got) >= len(headers) {
			t.Fatalf("cut at %d of %d: all %d lines", cut, len(whole), len(got))
		}
		if diff := cmp.Diff(headers[:len(got)], append([][2]string{}, got...)); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
	}
}

func TestPairsStopWhenAskedTo(t *testing.T) {
	n := 0
	for range ReadPairs(AppendPairs(nil, [][2]string{{"a", "b"}, {"c", "d"}})).All {
		n++
		break
	}
	if n != 1 {
		t.Fatalf("%d lines after a break", n)
	}
}

func TestPairsRefuseSizesThatLie(t *testing.T) {
	huge := AppendPairs(nil, [][2]string{{"a", "b"}})
	binary.LittleEndian.PutUint32(huge[4:], math.MaxInt32)
	negative := AppendPairs(nil, [][2]string{{"a", "b"}})
	binary.LittleEndian.PutUint32(negative[8:], math.MaxUint32)
	many := binary.LittleEndian.AppendUint32(nil, math.MaxUint32)
	for name, b := range map[string][]byte{"huge name": huge, "negative value": negative, "more lines than bytes": many} {
		if got := lines(ReadPairs(b)); got != nil {
			t.Errorf("%s: read %q", name, got)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(AppendPairs(nil, [][2]string{{":path", "/"}, {"a", "b"}}))
	f.Add([]byte{2, 0, 0, 0, 255, 255, 255, 127, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for name, value := range ReadPairs(b).All {
			total += len(name) + len(value) + 10
		}
		if total > len(b) {
			t.Fatalf("lines of %d bytes in %d bytes", total, len(b))
		}
	})
}
