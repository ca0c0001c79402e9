package route

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDocPairsMatchAsTheySay(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for line := range strings.Lines(string(doc)) {
		pattern, requests, yes := strings.Cut(line, " yes ")
		if !yes {
			var no bool
			if pattern, requests, no = strings.Cut(line, " no "); !no {
				continue
			}
		}
		pattern, ok := strings.CutPrefix(pattern, "//\t")
		if !ok {
			continue
		}
		table := tableOf(t, strings.TrimSpace(pattern))
		for _, request := range strings.Split(strings.TrimSpace(requests), "   ") {
			pairs++
			method, place, _ := strings.Cut(strings.TrimSpace(request), " ")
			slash := strings.IndexByte(place, '/')
			if _, got := table.Match(method, place[:slash], plain.Normalize(nil, place[slash:]), new([]Param)); got != yes {
				t.Errorf("%s against %s: got %v, the package comment says %v", pattern, request, got, yes)
			}
		}
	}
	if pairs < 25 {
		t.Errorf("found %d pairs in the package comment, want at least 25", pairs)
	}
}

func TestG12_TheOrderOfRoutesDoesNotMatter(t *testing.T) {
	sets := map[string]struct {
		patterns []string
		requests map[string]string
	}{
		"users": {
			[]string{"GET /users/:id", "GET /users/me", "GET /users/*"},
			map[string]string{"GET h/users/me": "GET /users/me", "GET h/users/7": "GET /users/:id", "GET h/users/7/x": "GET /users/*"},
		},
		"deep": {
			[]string{"GET /a/:x/c", "GET /a/b/:y", "GET /:z/b/c", "* /a/*", "GET /*"},
			map[string]string{
				"GET h/a/b/c": "GET /a/b/:y", "GET h/a/x/c": "GET /a/:x/c", "GET h/x/b/c": "GET /:z/b/c", "GET h/a/x/y": "* /a/*", "PUT h/a/b/c": "* /a/*", "GET h/x/y": "GET /*",
			},
		},
		"methods": {
			[]string{"* /a", "GET /a", "HEAD /a", "* h/a", "POST /:x"},
			map[string]string{"GET h/a": "* h/a", "GET other/a": "GET /a", "HEAD other/a": "HEAD /a", "PUT other/a": "* /a", "POST other/a": "* /a", "POST other/b": "POST /:x"},
		},
	}
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			for _, order := range permutations(set.patterns) {
				table := tableOf(t, order...)
				for request, want := range set.requests {
					method, place, _ := strings.Cut(request, " ")
					slash := strings.IndexByte(place, '/')
					value, ok := table.Match(method, place[:slash], []byte(place[slash:]), new([]Param))
					if !ok || order[value] != want {
						t.Errorf("%s in the order %q: got %v %d, want %s", request, order, ok, value, want)
					}
				}
			}
		})
	}
}

func TestG12_SameShapeTwiceNamesBoth(t *testing.T) {
	for _, pair := range [][2]string{
		{"GET /users/:id", "GET /users/{name}"}, {"GET /users/", "GET //users"}, {"get /a", "GET /%61"}, {"GET H/a", "GET h/a"}, {"* /a/*", "* /a/*"},
	} {
		table := tableOf(t, pair[0])
		first, _ := plain.ParsePattern(pair[0])
		second, err := plain.ParsePattern(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%q and %q match the same requests; keep one", first.String(), second.String())
		if err := table.Add(second, 1); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestUnreachableFindsHiddenWildcards(t *testing.T) {
	for name, c := range map[string]struct {
		patterns []string
		want     []string
	}{
		"shorter and longer are taken": {[]string{"GET /a/*", "GET /a/:x", "GET /a/:x/*"}, []string{"GET /a/* by GET /a/:x, GET /a/:x/*"}},
		"by any method":                {[]string{"GET /a/*", "* /a/:x", "GET /a/:x/*"}, []string{"GET /a/* by * /a/:x, GET /a/:x/*"}},
		"HEAD by GET":                  {[]string{"HEAD /a/*", "GET /a/:x", "GET /a/:x/*"}, []string{"HEAD /a/* by GET /a/:x, GET /a/:x/*"}},
		"in three steps": {[]string{"GET /*", "GET /:x", "GET /:x/:y", "GET /:x/:y/*"},
			[]string{"GET /* by GET /:x, GET /:x/:y, GET /:x/:y/*"}},
		"on a host":          {[]string{"GET h/*", "GET h/:x", "GET h/:x/*"}, []string{"GET h/* by GET h/:x, GET h/:x/*"}},
		"another host":       {[]string{"GET h/*", "GET /:x", "GET /:x/*"}, nil},
		"one method of many": {[]string{"* /a/*", "GET /a/:x", "GET /a/:x/*"}, nil},
		"longer are left":    {[]string{"GET /a/*", "GET /a/:x"}, nil},
		"shorter are left":   {[]string{"GET /a/*", "GET /a/:x/*"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, hidden := range tableOf(t, c.patterns...).Unreachable() {
				var by []string
				for _, p := range hidden.By {
					by = append(by, p.String())
				}
				got = append(got, hidden.Pattern.String()+" by "+strings.Join(by, ", "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	table := tableOf(t, spellingRoutes...)
	params := make([]Param, 0, 8)
	path := make([]byte, 0, 256)
	for _, s := range spellings {
		allocations := testing.AllocsPerRun(10, func() {
			path = plain.Normalize(path[:0], s.path)
			table.Match(s.method, s.host, path, &params)
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations, want none", s.about, allocations)
		}
	}
}

// The table against a plain reading of the package comment: of all patterns
// that match, the one that ranks first.
func TestMatchAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := new(Table)
		var patterns []Pattern
		for _, text := range rapid.SliceOfN(patternTexts(), 1, 12).Draw(t, "patterns") {
			p, err := plain.ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			if table.Add(p, len(patterns)) == nil {
				patterns = append(patterns, p)
			}
		}
		for range 20 {
			method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT"}).Draw(t, "method")
			host := rapid.SampledFrom([]string{"h", "i", "j"}).Draw(t, "host")
			path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(t, "path"), "/")

			want := bruteForce(patterns, method, host, path)
			got, ok := table.Match(method, host, []byte(path), new([]Param))
			if !ok {
				got = -1
			}
			if got != want {
				t.Fatalf("%s %s%s: got %d, want %d", method, host, path, got, want)
			}
		}
	})
}

func patternTexts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "*"}).Draw(t, "method")
		host := rapid.SampledFrom([]string{"", "", "h", "i"}).Draw(t, "host")
		path := ""
		for i := range rapid.IntRange(0, 4).Draw(t, "segments") {
			path += "/" + rapid.SampledFrom([]string{"a", "b", fmt.Sprintf(":p%d", i)}).Draw(t, "segment")
		}
		if path == "" || rapid.Bool().Draw(t, "rest") {
			path += rapid.SampledFrom([]string{"/", "/*"}).Draw(t, "end")
		}
		return method + " " + host + path
	})
}

func bruteForce(patterns []Pattern, method, host, path string) int {
	best := -1
	for i, p := range patterns {
		if matches(p, method, host, path) && (best < 0 || rank(p, method) < rank(patterns[best], method)) {
			best = i
		}
	}
	return best
}

func matches(p Pattern, method, host, path string) bool {
	ofMethod := p.Method == method || p.Method == "*" || method == "HEAD" && p.Method == "GET"
	if !ofMethod || p.Host != "" && p.Host != host {
		return false
	}
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, s := range p.segments {
		if i == len(segments) {
			return false
		}
		switch {
		case s.kind == wildcard:
			return true
		case s.kind == static && s.text != segments[i]:
			return false
		}
	}
	return len(segments) == len(p.segments)
}

// rank gives a text that sorts before that of every pattern that ranks lower.
func rank(p Pattern, method string) string {
	text := fmt.Sprint(cmp.Compare(0, len(p.Host))+1, " ")
	for _, s := range p.segments {
		text += fmt.Sprint(s.kind)
	}
	text += " "
	switch p.Method {
	case method:
		return text + "0"
	case "GET":
		return text + "1"
	default:
		return text + "2"
	}
}

func permutations(of []string) [][]string {
	if len(of) <= 1 {
		return [][]string{of}
	}
	var all [][]string
	for i, first := range of {
		for _, rest := range permutations(slices.Delete(slices.Clone(of), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// FuzzMatch: no path makes matching fail, and what it matched is what the
// plain reading says.
func FuzzMatch(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.method, s.host, s.path)
	}
	table := tableOf(f, spellingRoutes...)
	var patterns []Pattern
	for _, text := range spellingRoutes {
		p, _ := plain.ParsePattern(text)
		patterns = append(patterns, p)
	}
	f.Fuzz(func(t *testing.T, method, host, path string) {
		normal := plain.Normalize(nil, path)
		var params []Param
		got, ok := table.Match(method, host, normal, &params)
		if !ok {
			got = -1
		}
		want := bruteForce(patterns, strings.ToUpper(method), strings.ToLower(hostOf(host)), string(normal))
		if got != want {
			t.Fatalf("%q %q %q: got %d, want %d", method, host, path, got, want)
		}
	})
}

// BenchmarkMatch is normalising and matching one path, over templates of some
// segments, of which every second is a parameter.
func BenchmarkMatch(b *testing.B) {
	for _, segments := range []int{3, 12, 48} {
		for _, routes := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("segments=%d/routes=%d", segments, routes), func(b *testing.B) {
				table := new(Table)
				for i := range routes {
					p, err := plain.ParsePattern("GET " + benchPath(i, segments, ":p%d"))
					if err != nil {
						b.Fatal(err)
					}
					if err := table.Add(p, i); err != nil {
						b.Fatal(err)
					}
				}
				raw, path, params := benchPath(7, segments, "x%d"), make([]byte, 0, 512), make([]Param, 0, 32)
				b.ReportAllocs()
				for b.Loop() {
					path = plain.Normalize(path[:0], raw)
					if value, ok := table.Match("GET", "api.example.com", path, &params); !ok || value != 7 {
						b.Fatal(value, ok)
					}
				}
			})
		}
	}
}

// benchPath is a path under /v7 of some segments, every second from the format.
func benchPath(i, segments int, format string) string {
	path := fmt.Sprintf("/v%d", i)
	for n := 1; n < segments; n++ {
		if n%2 == 1 {
			path += "/" + fmt.Sprintf(format, n)
		} else {
			path += "/items"
		}
	}
	return path
}

// BenchmarkMatchOfOverlappingTemplates is the worst that templates can do: at
// every one of 12 segments a fixed one and a parameter, in all combinations, and
// a path that leads through all of them to nothing.
func BenchmarkMatchOfOverlappingTemplates(b *testing.B) {
	const segments = 12
	table := new(Table)
	for i := range 1 << segments {
		path := ""
		for n := range segments {
			if i>>n&1 == 0 {
				path += "/a"
			} else {
				path += fmt.Sprintf("/:p%d", n)
			}
		}
		p, err := plain.ParsePattern("GET " + path + "/end")
		if err != nil {
			b.Fatal(err)
		}
		if err := table.Add(p, i); err != nil {
			b.Fatal(err)
		}
	}
	path, params := []byte(strings.Repeat("/a", segments)+"/x"), make([]Param, 0, 32)
	for b.Loop() {
		if _, ok := table.Match("GET", "", path, &params); ok {
			b.Fatal("it matches")
		}
	}
}
