package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the routes and the request, the first candidate is the one that
// Match chooses, and each other has a reason.
func TestCandidatesBeginWithTheOneThatMatches(t *testing.T) {
	methods := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "*"})
	segments := rapid.SampledFrom([]string{"a", "b", ":x", ":y", "*"})
	rapid.Check(t, func(t *rapid.T) {
		routes := map[string]any{}
		for range rapid.IntRange(1, 10).Draw(t, "routes") {
			host := rapid.SampledFrom([]string{"", "h"}).Draw(t, "host")
			path := rapid.SliceOfN(segments, 0, 3).Draw(t, "segments")
			routes[methods.Draw(t, "method")+" "+host+"/"+strings.Join(path, "/")] = map[string]any{"limits": []any{}}
		}
		raw, err := json.Marshal(map[string]any{"routes": routes, "default": nil})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(raw, noEnv)
		if err != nil {
			return // two of one shape, or one that cannot be reached
		}
		method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT"}).Draw(t, "method")
		host := rapid.SampledFrom([]string{"h", "i"}).Draw(t, "host")
		path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(t, "path"), "/")

		want := p.Match(method, host, path, new(Matched))
		got := p.Candidates(method, host, path)
		if (want == nil) != (len(got) == 0) || want != nil && got[0].Route != want {
			t.Fatalf("%s %s%s: got %v, want %v", method, host, path, got, keyOf(want))
		}
		for i, c := range got {
			if (c.Reason == "") != (i == 0) {
				t.Fatalf("%s %s%s: %s over %s: %q", method, host, path, got[0].Route.Key, c.Route.Key, c.Reason)
			}
		}
	})
}

func TestCandidatesKeepTheirParameters(t *testing.T) {
	p := mustParse(t, `{"ignore_path_case": true, "default": null, "routes": {"GET /A/:x": {"limits": []}, "GET /:y/*": {"limits": []}}}`)
	got := p.Candidates("GET", "", "/a//%42/")
	if len(got) != 2 || len(got[0].Params) != 1 || got[0].Params[0].Value != "b" || len(got[1].Params) != 2 || got[1].Params[0].Value != "a" {
		t.Errorf("got %+v", got)
	}
	if got := string(p.Paths.Normalize(nil, "/a//%42/?q")); got != "/a/b" {
		t.Errorf("got %s", got)
	}
}
