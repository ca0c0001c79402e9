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
		if got := string(plain.Normalize(nil, spelling)); got != "/login" {
			t.Errorf("%s: got %s, want /login", spelling, got)
		}
	}
	if got := string(plain.Normalize(nil, "/LOGIN")); got != "/LOGIN" {
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
		if got := string(plain.Normalize(nil, spelling)); got != want {
			t.Errorf("%s: got %s, want %s", spelling, got, want)
		}
	}
}

// Servers that keep parameters see other paths where "..;" stands, so they are
// told apart by configuration.
func TestG09_ParametersOfSegmentsGoUnlessTheyAreKept(t *testing.T) {
	for spelling, want := range map[string][2]string{
		"/login;v=1":           {"/login", "/login;v=1"},
		"/login;jsessionid=0A": {"/login", "/login;jsessionid=0A"},
		"/login;":              {"/login", "/login;"},
		"/x;a/..;b/login;c":    {"/login", "/x;a/..;b/login;c"},
		"/;a/login/;b":         {"/login", "/;a/login/;b"},
		"/login%3Bv=1":         {"/login%3Bv=1", "/login;v=1"},
		"/login%3bv;w":         {"/login%3Bv", "/login;v;w"},
		"/;":                   {"/", "/;"},
	} {
		if got := string(plain.Normalize(nil, spelling)); got != want[0] {
			t.Errorf("%s: got %s, want %s", spelling, got, want[0])
		}
		if got := string(Reading{KeepParameters: true}.Normalize(nil, spelling)); got != want[1] {
			t.Errorf("%s, kept: got %s, want %s", spelling, got, want[1])
		}
	}
}

func TestTemplatesMayHoldParametersThatAreKept(t *testing.T) {
	p, err := Reading{KeepParameters: true}.ParsePattern("GET /a;v=1")
	if err != nil || p.Key() != "GET:/a%3Bv=1" {
		t.Fatalf("key %s, %v", p.Key(), err)
	}
	var table Table
	if err := table.Add(p, 1); err != nil {
		t.Fatal(err)
	}
	if _, ok := table.Match("GET", "", Reading{KeepParameters: true}.Normalize(nil, "/a%3bv=1/"), new([]Param)); !ok {
		t.Error("its own spelling does not match")
	}
}

func TestNormalizeAppendsToWhatIsThere(t *testing.T) {
	for spelling, want := range map[string]string{"/../a": "/x/y/a", "": "/x/y/", "/a/../..": "/x/y/"} {
		if got := string(plain.Normalize([]byte("/x/y"), spelling)); got != want {
			t.Errorf("%s: got %s, want %s", spelling, got, want)
		}
	}
}

func TestNormalizeDoesNotAllocate(t *testing.T) {
	buffer := make([]byte, 0, 256)
	allocations := testing.AllocsPerRun(100, func() {
		buffer = plain.Normalize(buffer[:0], "//x/%2e%2e/us%65rs/a%2Fb/?next=/..")
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

func TestRespellingsHaveOneNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringMatching(`[a-z.%/?#;\\é]{1,6}`), 0, 6).Draw(t, "segments")
		want := plain.Normalize(nil, spell(t, segments))
		got := plain.Normalize(nil, spell(t, segments))
		if !bytes.Equal(got, want) {
			t.Fatalf("two spellings of %q: %s and %s", segments, got, want)
		}
	})
}

// spell writes segments as a path, each time another one.
func spell(t *rapid.T, segments []string) string {
	var path strings.Builder
	for _, segment := range segments {
		path.WriteString(rapid.SampledFrom([]string{"/", "//", "\\", "/./", "/x/../", "/%2e/", "/%78/.%2E/", "/;v/", "/x/..;v=1/", ";v/", ";w=%2F\\.;/"}).Draw(t, "separator"))
		for _, c := range []byte(segment) {
			if strings.IndexByte(`%/?#;\`, c) >= 0 || rapid.Bool().Draw(t, "escape") {
				format := rapid.SampledFrom([]string{"0123456789ABCDEF", "0123456789abcdef"}).Draw(t, "digits")
				path.Write([]byte{'%', format[c>>4], format[c&15]})
			} else {
				path.WriteByte(c)
			}
		}
	}
	path.WriteString(rapid.SampledFrom([]string{"", "/", "?", "?a=/../b", "#c", ";", "/;v=1", ";v?w"}).Draw(t, "end"))
	return path.String()
}

// FuzzNormalize: the normal form is absolute, has nothing left to normalise,
// and is its own normal form, however paths are read; and parameters make no
// difference where they are not kept.
func FuzzNormalize(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.path, false, false)
		f.Add(s.path, true, true)
	}
	f.Fuzz(func(t *testing.T, path string, ignoreCase, keep bool) {
		r := Reading{ignoreCase, keep}
		normal := string(r.Normalize(nil, path))
		if again := string(r.Normalize(nil, normal)); again != normal {
			t.Fatalf("%q: normal form %q, of which %q", path, normal, again)
		}
		if !strings.HasPrefix(normal, "/") || strings.ContainsAny(normal, `?#\`) || !keep && strings.Contains(normal, ";") {
			t.Fatalf("%q: normal form %q", path, normal)
		}
		if with := string(r.Normalize(nil, withParameters(path))); !keep && with != normal {
			t.Fatalf("%q: normal form %q, with parameters %q", path, normal, with)
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

// withParameters gives every segment of a path a parameter.
func withParameters(path string) string {
	end := len(path)
	if cut := strings.IndexAny(path, "?#"); cut >= 0 {
		end = cut
	}
	return strings.NewReplacer("/", ";v=%2F/", `\`, `;w\`).Replace(path[:end]) + ";" + path[end:]
}
