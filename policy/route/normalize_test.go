package route

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// G09, G10: the spellings that slipped past other limiters.
func TestG09_SpellingsOfOnePathHaveOneNormalForm(t *testing.T) {
	for _, spelling := range []string{
		"/login", "/login/", "//login", "/login?x=1", "/./login", "/x/../login", "/%6Cogin", "/%6cogin",
	} {
		if got := string(Normalize(nil, spelling)); got != "/login" {
			t.Errorf("%s: got %s, want /login", spelling, got)
		}
	}
	if got := string(Normalize(nil, "/LOGIN")); got != "/LOGIN" {
		t.Errorf("letter case was changed to %s", got)
	}
}

func TestG10_EscapesAreDecodedAtMostOnce(t *testing.T) {
	for spelling, want := range map[string]string{
		"/orders%2F5":          "/orders%2F5",
		"/orders%2f5":          "/orders%2F5",
		"/orders/a%2Fb":        "/orders/a%2Fb",
		"/orders/%252e%252e/x": "/orders/%252e%252e/x",
		"/orders/5%":           "/orders/5%25",
		"/orders/%zz":          "/orders/%25zz",
		"/orders\\5":           "/orders/5",
	} {
		if got := string(Normalize(nil, spelling)); got != want {
			t.Errorf("%s: got %s, want %s", spelling, got, want)
		}
	}
}

func TestNormalizeAppendsToWhatIsThere(t *testing.T) {
	for spelling, want := range map[string]string{"/../a": "/x/y/a", "": "/x/y/", "/a/../..": "/x/y/"} {
		if got := string(Normalize([]byte("/x/y"), spelling)); got != want {
			t.Errorf("%s: got %s, want %s", spelling, got, want)
		}
	}
}

func TestNormalizeDoesNotAllocate(t *testing.T) {
	buffer := make([]byte, 0, 256)
	allocations := testing.AllocsPerRun(100, func() {
		buffer = Normalize(buffer[:0], "//x/%2e%2e/us%65rs/a%2Fb/?next=/..")
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

func TestRespellingsHaveOneNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringMatching(`[a-z.%/?#\\é]{1,6}`), 0, 6).Draw(t, "segments")
		want := Normalize(nil, spell(t, segments))
		got := Normalize(nil, spell(t, segments))
		if !bytes.Equal(got, want) {
			t.Fatalf("two spellings of %q: %s and %s", segments, got, want)
		}
	})
}

// spell writes segments as a path, each time another one.
func spell(t *rapid.T, segments []string) string {
	var path strings.Builder
	for _, segment := range segments {
		path.WriteString(rapid.SampledFrom([]string{"/", "//", "\\", "/./", "/x/../", "/%2e/", "/%78/.%2E/"}).Draw(t, "separator"))
		for _, c := range []byte(segment) {
			if strings.IndexByte(`%/?#\`, c) >= 0 || rapid.Bool().Draw(t, "escape") {
				format := rapid.SampledFrom([]string{"0123456789ABCDEF", "0123456789abcdef"}).Draw(t, "digits")
				path.Write([]byte{'%', format[c>>4], format[c&15]})
			} else {
				path.WriteByte(c)
			}
		}
	}
	path.WriteString(rapid.SampledFrom([]string{"", "/", "?", "?a=/../b", "#c"}).Draw(t, "end"))
	return path.String()
}

// FuzzNormalize: the normal form is absolute, has nothing left to normalise,
// and is its own normal form.
func FuzzNormalize(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		normal := string(Normalize(nil, path))
		if again := string(Normalize(nil, normal)); again != normal {
			t.Fatalf("%q: normal form %q, of which %q", path, normal, again)
		}
		if !strings.HasPrefix(normal, "/") || strings.ContainsAny(normal, `?#\`) {
			t.Fatalf("%q: normal form %q", path, normal)
		}
		if normal == "/" {
			return
		}
		for _, segment := range strings.Split(normal[1:], "/") {
			if segment == "" || segment == "." || segment == ".." {
				t.Fatalf("%q: normal form %q has the segment %q", path, normal, segment)
			}
		}
	})
}
