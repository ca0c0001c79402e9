package shim

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPairsReadWhatAppendPairsWrites(t *testing.T) {
	for _, headers := range [][][2]string{
		nil,
		{{":path", "/"}},
		{{"a", ""}, {"", "b"}, {"", ""}},
		{{"cookie", "a=1"}, {"cookie", "b=2"}, {"x", "\x00\xff"}},
	} {
		if diff := cmp.Diff(headers, AppendLines(nil, AppendPairs(nil, headers))); diff != "" {
			t.Errorf("%q: %s", headers, diff)
		}
	}
}

func TestPairsStopWhereTheEncodingIsCut(t *testing.T) {
	headers := [][2]string{{":method", "GET"}, {":path", "/login"}, {"x", "y"}}
	whole := AppendPairs(nil, headers)
	for cut := range whole {
		got := AppendLines(nil, whole[:cut])
		if len(got) >= len(headers) {
			t.Fatalf("cut at %d of %d: all %d lines", cut, len(whole), len(got))
		}
		if diff := cmp.Diff(headers[:len(got)], append([][2]string{}, got...)); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
	}
}

func TestPairsOfTheNextRequestTakeTheSameMemory(t *testing.T) {
	encoded := AppendPairs(nil, [][2]string{{"a", "b"}, {"c", "d"}})
	lines := AppendLines(nil, encoded)
	if n := testing.AllocsPerRun(100, func() { lines = AppendLines(lines[:0], encoded) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestPairsRefuseSizesThatLie(t *testing.T) {
	huge := AppendPairs(nil, [][2]string{{"a", "b"}})
	binary.LittleEndian.PutUint32(huge[4:], math.MaxInt32)
	negative := AppendPairs(nil, [][2]string{{"a", "b"}})
	binary.LittleEndian.PutUint32(negative[8:], math.MaxUint32)
	many := binary.LittleEndian.AppendUint32(nil, math.MaxUint32)
	for name, b := range map[string][]byte{"huge name": huge, "negative value": negative, "more lines than bytes": many} {
		if got := AppendLines(nil, b); got != nil {
			t.Errorf("%s: read %q", name, got)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(AppendPairs(nil, [][2]string{{":path", "/"}, {"a", "b"}}))
	f.Add([]byte{2, 0, 0, 0, 255, 255, 255, 127, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for _, line := range AppendLines(nil, b) {
			total += len(line[0]) + len(line[1]) + 10
		}
		if total > len(b) {
			t.Fatalf("lines of %d bytes in %d bytes", total, len(b))
		}
	})
}
