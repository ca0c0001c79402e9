package route

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParsePatternReadsEveryForm(t *testing.T) {
	cases := []struct {
		text string
		want Pattern
		key  string
	}{
		{"POST /login", Pattern{Method: "POST", Template: "/login"}, "POST:/login"},
		{"post /login/", Pattern{Method: "POST", Template: "/login/"}, "POST:/login"},
		{"* /", Pattern{Method: "*", Template: "/"}, "*:/"},
		{"GET /users/:id", Pattern{Method: "GET", Template: "/users/:id"}, "GET:/users/:id"},
		{"GET /users/{id}", Pattern{Method: "GET", Template: "/users/{id}"}, "GET:/users/:id"},
		{"GET /files/*", Pattern{Method: "GET", Template: "/files/*"}, "GET:/files/*"},
		{"M-SEARCH /a", Pattern{Method: "M-SEARCH", Template: "/a"}, "M-SEARCH:/a"},
		{"POST API.example.com/login", Pattern{Method: "POST", Host: "api.example.com", Template: "/login"}, "api.example.com:POST:/login"},
		{"GET /v1/items:get", Pattern{Method: "GET", Template: "/v1/items:get"}, "GET:/v1/items:get"},
		{"GET /%3Aid", Pattern{Method: "GET", Template: "/%3Aid"}, "GET:/%3Aid"},
		{"GET /%2A", Pattern{Method: "GET", Template: "/%2A"}, "GET:/%2A"},
		{"GET /a%2fb", Pattern{Method: "GET", Template: "/a%2fb"}, "GET:/a%252Fb"},
		{"GET /100%", Pattern{Method: "GET", Template: "/100%"}, "GET:/100%2525"},
		{"GET /a%20b%7B%7C%7D%3B%22", Pattern{Method: "GET", Template: "/a%20b%7B%7C%7D%3B%22"}, "GET:/a%20b%7B%7C%7D%253B%22"},
	}
	for _, c := range cases {
		p, err := plain.ParsePattern(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if key := p.Key(); key != c.key {
			t.Errorf("%s: key %s, want %s", c.text, key, c.key)
		}
		p.segments = nil
		if diff := cmp.Diff(c.want, p, cmp.AllowUnexported(Pattern{})); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestParsePatternSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `"" has no method; write a method, one blank and a path, such as "GET /users/:id", or "* /users/:id" for any method`,
		"/login":                           `"/login" has no method; write a method, one blank and a path, such as "GET /users/:id", or "* /users/:id" for any method`,
		"POST login":                       `"POST login" has no path; write a method, one blank and a path, such as "GET /users/:id"`,
		" /login":                          `"" is no method; write one such as "GET" or "POST", or "*" for any`,
		"GET|POST /login":                  `"GET|POST" is no method; write one such as "GET" or "POST", or "*" for any`,
		"POST  /login":                     `host " " may hold letters, digits, "-", "_" and "." only; write a host name, or a path that starts with "/"`,
		"GET a.com:80/x":                   `host "a.com:80" has a port; write the host alone, a request's port takes no part`,
		"GET a.com./x":                     `host "a.com." ends in a dot; leave the dot out, a request's is ignored`,
		"GET *.a.com/x":                    `host "*.a.com" may hold letters, digits, "-", "_" and "." only; write a host name, or a path that starts with "/"`,
		"POST /login ":                     `the path "/login " has a blank or a control character; take it out, or write it as an escape such as %20`,
		"GET /a\tb":                        `the path "/a\tb" has a blank or a control character; take it out, or write it as an escape such as %20`,
		"GET /a?b=c":                       `the path has a "?" or "#"; a query takes no part in matching, so leave it out (or write %3F, %23)`,
		"GET /a/../b":                      `segment ".." never occurs in a normalised path; leave it out`,
		"GET /a;v=1/b":                     `segment "a;v=1" has parameters, which take no part in matching; leave out what begins with ";" (as data: %3B), or write "keep_path_parameters": true`,
		"GET /a/%2e":                       `segment "%2e" never occurs in a normalised path; leave it out`,
		"GET /*/a":                         `"*" stands before "a"; it is the rest of the path, so write it last, or ":name" for one segment`,
		"GET /a*":                          `segment "a*" mixes text with a parameter or "*", which are whole segments; write ":name" or a last "*" (as data: %7B, %7D, %2A)`,
		"GET /**":                          `segment "**" mixes text with a parameter or "*", which are whole segments; write ":name" or a last "*" (as data: %7B, %7D, %2A)`,
		"GET /v{id}":                       `segment "v{id}" mixes text with a parameter or "*", which are whole segments; write ":name" or a last "*" (as data: %7B, %7D, %2A)`,
		"GET /:":                           `parameter ":" needs a name of letters, digits and "_" that starts with a letter; write ":id", or "%3A" for a segment that starts with a colon`,
		"GET /{}":                          `parameter "{}" needs a name of letters, digits and "_" that starts with a letter; write ":id", or "%3A" for a segment that starts with a colon`,
		"GET /:a.json":                     `parameter ":a.json" needs a name of letters, digits and "_" that starts with a letter; write ":id", or "%3A" for a segment that starts with a colon`,
		"GET /{id:[0-9]+}":                 `parameter "{id:[0-9]+}" needs a name of letters, digits and "_" that starts with a letter; write ":id", or "%3A" for a segment that starts with a colon`,
		"GET /:a/b/{a}":                    `parameter "a" occurs twice; give each its own name`,
		"GET /" + strings.Repeat("x", 512): `the path is 513 bytes long; use at most 512, for example with a last "*"`,
	} {
		if _, err := plain.ParsePattern(text); err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v\nwant %s", text, err, want)
		}
	}
}

func TestKeysOfDifferentPatternsDiffer(t *testing.T) {
	texts := []string{
		"GET /:id", "GET /%3Aid", "GET /*", "GET /%2A", "GET /%253Aid", "GET /a/b", "GET /a%2Fb", "GET /a%252Fb", "GET a/b", "GET /",
		"* /a/b", "GET /{id}/x", "GET /%7Bid%7D", "GET /get:/x", "GET get/x", "GET /a%20b", "GET /a%2520b",
	}
	seen := map[string]string{}
	for _, text := range texts {
		p, err := plain.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if other := seen[p.Key()]; other != "" {
			t.Errorf("%s and %s have the key %s", other, text, p.Key())
		}
		seen[p.Key()] = text
	}
}

func TestKeysHoldNothingThatKeysUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := plain.ParsePattern("GET /" + rapid.String().Draw(t, "path"))
		if err != nil {
			return
		}
		for _, c := range []byte(p.Key()) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte(`{}|;"\`, c) >= 0 {
				t.Fatalf("key %q holds %q", p.Key(), c)
			}
		}
	})
}

func TestIgnoreCaseMakesLetterCaseNoMatter(t *testing.T) {
	r := Reading{IgnoreCase: true}
	p, err := r.ParsePattern("GET /Users/:ID/a%2Fb")
	if err != nil {
		t.Fatal(err)
	}
	table := new(Table)
	if err := table.Add(p, 1); err != nil {
		t.Fatal(err)
	}
	var params []Param
	path := r.Normalize(nil, "/uSERS/7/A%2fB")
	if _, ok := table.Match("GET", "", path, &params); !ok || params[0] != (Param{"ID", "7"}) {
		t.Errorf("matched %v, %v", ok, params)
	}
}
