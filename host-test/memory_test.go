package hosttest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPairsSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) [2]string {
			return [2]string{rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")}
		})
		want := Headers(rapid.SliceOfN(line, 1, 20).Draw(t, "lines"))
		b, ok := encodePairs(want)
		if !ok {
			t.Fatal("not encoded")
		}
		if diff := cmp.Diff(want, decodePairs(b)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMalformedPairsAreNoPairs(t *testing.T) {
	whole, _ := encodePairs(Headers{{"a", "1"}, {"bc", ""}})
	for n := range whole {
		if got := decodePairs(whole[:n]); got != nil {
			t.Errorf("the first %d bytes read as %q", n, got)
		}
	}
	if got := decodePairs(append(slices.Clone(whole), 0)); got != nil {
		t.Errorf("with a byte behind: %q", got)
	}
	for i := range whole {
		flipped := slices.Clone(whole)
		flipped[i] ^= 0xff
		decodePairs(flipped) // whatever it reads, it must not fail
	}
	if got := decodePairs([]byte{0xff, 0xff, 0xff, 0xff}); got != nil {
		t.Errorf("%q", got)
	}
}
