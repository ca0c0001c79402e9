package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"routelimit/policy"
)

func testEnv(name string) (string, bool) {
	value, ok := map[string]string{"GOOD_KEY": "0123456789abcdef", "ROUTELIMIT_HASH_KEY": "0123456789abcdef"}[name]
	return value, ok
}

// FuzzSchemaTakesWhatParseTakes: an editor never underlines what is right.
func FuzzSchemaTakesWhatParseTakes(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		for _, raw := range policyFiles(f, folder, 15) {
			f.Add(raw)
		}
	}
	schema := compile(f, "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(bytes.TrimSpace(raw)) == 0 {
			return // no configuration at all
		}
		if _, err := policy.Parse(raw, testEnv); err != nil {
			return
		}
		if err := validate(schema, raw); err != nil {
			t.Errorf("%s\n%v", raw, err)
		}
	})
}

// What people write by hand goes through patterns: each must take whatever the
// reader takes.
func TestPatternsTakeWhatTheReadersTake(t *testing.T) {
	schema := compile(t, "")
	quote := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	// Where the text stands in a policy, how it starts, and pieces that it is put together from.
	for name, c := range map[string]struct{ before, start, after, pieces string }{
		"route":        {`{"default": null, "routes": {`, `GET `, `: {"limits": []}}}`, `a.example.com / /a /:id /{id} /* \ . - _ %2F %3A : é ~ 9`},
		"limit name":   {`{"default": {"identity": "ip", "limit": 1, "window": "1s", "name": `, "", `}}`, `a Z 9 . _ - : / | + " é`},
		"identity":     {`{"default": {"limit": 1, "window": "1s", "identity": `, "", `}}`, `ip all + | _ A`},
		"window":       {`{"default": {"identity": "ip", "limit": 1, "window": `, "", `}}`, `1s 60s 5m 1h 36d 1000ms 9 0 s m -1 .`},
		"bucket":       {`{"default": {"identity": "ip", "limit": 1, "window": "1s", "bucket": `, "", `}}`, `a Z 9 . _ - { é`},
		"cluster":      {`{"redis": {"cluster": `, "", `}}`, `a Z | . ~ ! é`},
		"source":       {`{"identities": {"x": {"from": `, "", `}}}`, `header: cookie: query: body: path: metadata: property: jwt_unverified: a . / request \ é`},
		"component":    {`{"identities": {`, "", `: {"from": "header:a"}}}`, `a z9 _ A ip all`},
		"exempt":       {`{"default": {"limits": [], "exempt": [`, "", `]}}`, `10.0.0.0 192.0.2.7 :: 2001:db8 ::ffff: /8 /32 /0 /128 %eth0`},
		"header name":  {`{"response": {"headers": {`, "", `: "a"}}}`, `x X - _ ! : é`},
		"header value": {`{"response": {"headers": {"x": `, "", `}}}`, "a é ~ ! \u007f \u0001 \u00a0"},
	} {
		t.Run(name, func(t *testing.T) {
			pieces := append(strings.Fields(c.pieces), " ")
			taken := 0
			rapid.Check(t, func(t *rapid.T) {
				text := c.start + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pieces"), "")
				raw := []byte(c.before + quote(text) + c.after)
				if _, err := policy.Parse(raw, testEnv); err != nil {
					return
				}
				taken++
				if err := validate(schema, raw); err != nil {
					t.Fatalf("%s\n%v", raw, err)
				}
			})
			if taken == 0 {
				t.Error("the reader took nothing")
			}
		})
	}
}

// A field that is set to its default changes nothing.
func TestDefaultsAreThoseInForce(t *testing.T) {
	seen := 0
	for _, f := range everyField() {
		if f.Default == "" {
			continue
		}
		seen++
		with, without := parse(t, f.with(f.Default)), parse(t, f.with(""))
		with.Empty = without.Empty
		for _, p := range []*policy.Policy{with, without} {
			if p.Answer.Status == 0 {
				p.Answer.Status = 429
			}
			if p.Answer.Body != "" && p.Answer.ContentType == "" {
				p.Answer.ContentType = "text/plain; charset=utf-8"
			}
		}
		if len(without.Routes) > 0 && len(without.Routes[0].Exempt) == 0 {
			with.Routes[0].Exempt = without.Routes[0].Exempt // an empty list is none
		}
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%s: %s is not its default", f.place(), f.Default)
		}
	}
	if seen < 15 {
		t.Errorf("only %d fields have a default", seen)
	}
}

func TestExamplesAreTaken(t *testing.T) {
	schema := compile(t, "")
	for _, f := range everyField() {
		raw := f.with(f.Example)
		parse(t, raw)
		if err := validate(schema, []byte(raw)); err != nil {
			t.Errorf("%s: %v", f.place(), err)
		}
	}
}

func parse(t *testing.T, raw string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(raw), testEnv)
	if err != nil {
		t.Fatalf("%s\n%v", raw, err)
	}
	return p
}
