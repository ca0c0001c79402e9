package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"routelimit/policy/route"
)

// traced are identities of every source, in clear and as secrets.
func traced(t testing.TB, client Client) *Definitions {
	t.Helper()
	var components []Component
	for name, from := range map[string]string{
		"key": "header:x-key", "session": "cookie:session", "query": "query:q", "body": "body:user.name",
		"id": "path:id", "claim": "metadata:ns/sub", "token": "jwt_unverified:sub", "cert": "property:connection.id",
	} {
		components = append(components,
			Component{Name: name, Source: source(t, from)},
			Component{Name: name + "_secret", Source: source(t, from), Secret: true},
			Component{Name: name + "_folded", Source: source(t, from), Fold: true})
	}
	return NewDefinitions(components, client, []byte("a key"))
}

func TestTraceTellsWhereEachPartCameFrom(t *testing.T) {
	d := traced(t, Client{TrustedHops: 1})
	long := strings.Repeat("x", 200)
	jsonBody := func(text string) *Body { return &Body{Bytes: []byte(text), Complete: true} }
	ip := TracedPart{Name: "ip", From: "source.address, the peer, since x-forwarded-for has fewer than 1 entries", Value: "192.0.2.1"}
	for name, c := range map[string]struct {
		identity string
		request  request
		want     []TracedPart
	}{
		"a header":          {"key", header("x-key", "a b"), []TracedPart{{"key", "header:x-key", "a%20b", ""}}},
		"none":              {"key", header(), []TracedPart{{"key", "header:x-key", "", "the request has none, or none that is a text or an integer"}}},
		"empty":             {"key", header("x-key", " "), []TracedPart{{"key", "header:x-key", "", "it is empty"}}},
		"twice":             {"key", header("x-key", "a", "x-key", "b"), []TracedPart{{"key", "header:x-key", "", "it occurs more than once, and upstreams differ in which one they read"}}},
		"long":              {"key", header("x-key", long), []TracedPart{{"key", "header:x-key", "#e2f2c9b8b3e8a4d5", "too long for a key, hashed"}}},
		"folded":            {"key_folded", header("x-key", " Alice"), []TracedPart{{"key_folded", "header:x-key", "alice", "folded"}}},
		"blank once folded": {"key_folded", header("x-key", "\ufeff"), []TracedPart{{"key_folded", "header:x-key", "", "it is blank once it is folded"}}},
		"secret":            {"key_secret", header("x-key", "hush"), []TracedPart{{"key_secret", "header:x-key", "?", "secret, hashed"}}},
		"a number to fold":  {"body_folded", request{body: jsonBody(`{"user": {"name": 7}}`)}, []TracedPart{{"body_folded", "body:user.name", "", "it is a number, and only a text can be folded; where no other alternative is present, all such requests share one count"}}},
		"a body cut off": {"body", request{body: &Body{Bytes: []byte(`{"user": {"name": "a"`)}},
			[]TracedPart{{"body", "body:user.name", "", "the body cannot be read for certain: it is cut off, compressed, of another type or charset, not valid, or the field is neither text nor an integer; where no other alternative is present, all such requests share one count"}}},
		"a body cut off, then the address": {"body|ip", request{body: &Body{Bytes: []byte(`{"user": {"name": "a"`)}},
			[]TracedPart{{"body", "body:user.name", "", "the body cannot be read for certain: it is cut off, compressed, of another type or charset, not valid, or the field is neither text nor an integer; where no other alternative is present, all such requests share one count"}, ip}},
		"a field twice": {"body", request{body: jsonBody(`{"user": {"name": "a", "name": "b"}}`)},
			[]TracedPart{{"body", "body:user.name", "", "it occurs more than once, and upstreams differ in which one they read; where no other alternative is present, all such requests share one count"}}},
		"several":           {"key+ip+all", header("x-key", "a"), []TracedPart{{"key", "header:x-key", "a", ""}, ip, {"all", "everybody", "all", ""}}},
		"a parameter":       {"id", request{params: []route.Param{{Name: "id", Value: "7"}}}, []TracedPart{{"id", "path:id", "7", ""}}},
		"the second of two": {"key|ip", header(), []TracedPart{{"key", "header:x-key", "", "the request has none, or none that is a text or an integer"}, ip}},
		"no address":        {"ip", request{peer: "-"}, []TracedPart{{"ip", "source.address, which Envoy does not know", "", "there is no address"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := expr(t, d, c.identity).Trace(c.request.real())
			var parts []TracedPart
			for _, a := range got.Tried {
				parts = append(parts, a.Parts...)
			}
			for i := range parts { // hashes: their form is another test's
				if i < len(c.want) && strings.Contains(parts[i].Why, "hashed") && len(parts[i].Value) >= 16 {
					parts[i].Value = c.want[i].Value
				}
			}
			if diff := cmp.Diff(c.want, parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTraceOfTheClientSaysWhichEntry(t *testing.T) {
	for name, c := range map[string]struct {
		hops    int
		request request
		want    TracedClient
	}{
		"an entry":         {2, header(xff, "198.51.100.9, 203.0.113.7, 198.51.100.1"), TracedClient{"203.0.113.7", "entry 2 from the right of x-forwarded-for"}},
		"no address there": {1, header(xff, "unknown"), TracedClient{"", "entry 1 from the right of x-forwarded-for, which is no address"}},
		"a short chain":    {2, header(xff, "198.51.100.9"), TracedClient{"192.0.2.1", "source.address, the peer, since x-forwarded-for has fewer than 2 entries"}},
		"a hidden peer":    {2, request{headers: [][2]string{{xff, "198.51.100.9"}}, peer: "198.51.100.9:0"}, TracedClient{"", "source.address, which hides the peer (its port is 0); x-forwarded-for has fewer than 2 entries"}},
		"no hops":          {0, header(xff, "198.51.100.9"), TracedClient{"192.0.2.1", "source.address, the peer, since client.trusted_hops is 0"}},
		"not set":          {-1, header(xff, "198.51.100.9"), TracedClient{"192.0.2.1", "source.address, whom Envoy trusts, since client.trusted_hops is not set"}},
		"Envoy knows none": {0, request{peer: "-"}, TracedClient{"", "source.address, which Envoy does not know"}},
	} {
		if got := NewDefinitions(nil, Client{TrustedHops: c.hops}, nil).TraceClient(c.request.real()); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// Whatever a caller sends, the trace ends where Append does, and shows no
// secret.
func TestTraceAgreesWithAppendAndShowsNoSecret(t *testing.T) {
	const secret = "S3cr3t"
	names := []string{"key", "session", "query", "body", "id", "claim", "token", "cert"}
	d := traced(t, Client{TrustedHops: 1})
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{secret, " " + secret, "a", "", "7"})
		r := request{
			headers:    [][2]string{{"x-key", value.Draw(t, "key")}, {"cookie", "session=" + value.Draw(t, "session")}, {":path", "/x?q=" + value.Draw(t, "query")}},
			properties: [][2]string{{"metadata\x00filter_metadata\x00ns\x00sub", value.Draw(t, "claim")}, {"connection\x00id", value.Draw(t, "cert")}},
			body:       &Body{Bytes: []byte(`{"user": {"name": "` + value.Draw(t, "body") + `"}}`), Complete: rapid.Bool().Draw(t, "complete")},
			params:     []route.Param{{Name: "id", Value: value.Draw(t, "id")}},
		}
		if rapid.Bool().Draw(t, "twice") {
			r.headers = append(r.headers, [2]string{"x-key", "b"})
		}
		var alternatives []string
		for range rapid.IntRange(1, 3).Draw(t, "alternatives") {
			name := rapid.SampledFrom(names).Draw(t, "name") + "_secret"
			if rapid.Bool().Draw(t, "with ip") {
				name += "+ip"
			}
			alternatives = append(alternatives, name)
		}
		e, err := d.ParseExpr(strings.Join(alternatives, "|"))
		if err != nil {
			return // one of them can never count
		}
		request := r.real()
		key, used := e.Append(nil, request)
		trace := e.Trace(r.real())
		if trace.Key != string(key) || trace.Used != used || trace.Noted != request.Noted {
			t.Fatalf("got %+v, want %s by %s, %v", trace, key, used, request.Noted)
		}
		for _, a := range trace.Tried {
			for _, part := range a.Parts {
				if strings.Contains(part.Value+part.Why+part.From, secret) {
					t.Fatalf("%+v shows the secret", part)
				}
			}
		}
	})
}
