package accesslog

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Envoy 1.40.0 wrote about five requests: a plain one, one with quotes in its
// user agent, one with dots in its path, one that was none, and one whose
// X-Forwarded-For is made to look like further fields. In text neither the second nor
// the last can be read for certain; JSON tells all.
func TestLinesOfARealEnvoy(t *testing.T) {
	const (
		plain = "12-01T13:47:36.685|GET|/|127.0.0.1:18080|"
		dots  = "12-01T13:47:36.707|POST|/a/../login|127.0.0.1:18080|"
	)
	for name, want := range map[string]struct {
		format     string
		entries    []string
		unreadable int64
	}{
		"default": {"envoy", []string{
			plain + "|192.0.2.2|200|curl/7.88.1;d07801a5-bd3e-487d-bd3d-3d27085caaf7",
			dots + "|192.0.2.2|200|;87240dd6-95b2-4471-aa31-79f98e4c4c29",
		}, 3},
		"istio": {"istio", []string{
			plain + "127.0.0.1:48652|192.0.2.2|200|curl/7.88.1;d07801a5-bd3e-487d-bd3d-3d27085caaf7;some",
			dots + "127.0.0.1:48666|192.0.2.2|200|;87240dd6-95b2-4471-aa31-79f98e4c4c29;some",
		}, 3},
		"json": {"json", []string{
			plain + "127.0.0.1:48652|192.0.2.2|200|some",
			"12-01T13:47:36.695|GET|/api/search?q=shoes|127.0.0.1:18080|127.0.0.1:48654|203.0.113.7,192.0.2.2|200|some",
			dots + "127.0.0.1:48666|192.0.2.2|200|some",
			`12-01T13:47:37.825|GET|/x|127.0.0.1:18080|127.0.0.1:48694|1.2.3.4" "ua" "id,192.0.2.2|200|some`,
		}, 1},
	} {
		text, err := os.ReadFile("testdata/envoy-1.40.0-" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		entries, logs := read(t, Options{}, string(text))
		if diff := cmp.Diff(want.entries, briefs(entries)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if l := logs[0]; l.Layout.Format != want.format || l.Unreadable != want.unreadable || l.Lines != 5 || l.Layout.Received {
			t.Errorf("%s: %+v, layout %+v", name, l, l.Layout)
		}
	}
}

func TestFormatsAreFoundOutAndRead(t *testing.T) {
	for name, c := range map[string]struct {
		line, format, want string
	}{
		"combined": {
			`203.0.113.7 - - [01/Dec/2026:14:00:00 +0100] "GET /a?b=1 HTTP/1.1" 304 0 "https://h/" "agent"`, "combined",
			"12-01T13:00:00.000|GET|/a?b=1||203.0.113.7||304|https://h/;agent",
		},
		"combined with more words, escapes of nginx": {
			`203.0.113.7 - bob [01/Dec/2026:13:00:00 +0000] "GET /\x22a\x20b HTTP/1.1" 200 5 "-" "a \"b\" \\c" "198.51.100.9" 0.003`, "combined",
			"12-01T13:00:00.000|GET|/\"a b||203.0.113.7||200|;a \"b\" \\c",
		},
		"common": {
			`::1 - frank [30/Nov/2026:23:59:59 -0030] "POST /x HTTP/1.0" 201 2326`, "common",
			"12-01T00:29:59.000|POST|/x||::1||201|",
		},
		"no protocol": {
			`203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET /a b HTTP/1.1" 200 5`, "common",
			"12-01T13:00:00.000|GET|/a b||203.0.113.7||200|",
		},
		"nginx in JSON": {
			`{"msec":"1796130000.123","request":"GET /a HTTP/2.0","status":"200","remote_addr":"203.0.113.7","http_x_forwarded_for":"198.51.100.9","http_host":"h"}`, "json",
			"12-01T13:00:00.123|GET|/a|h|203.0.113.7|198.51.100.9|200|",
		},
		"JSON with escapes, nesting and blanks": {
			`{ "x": [1, {"time": 7}, "]"], "time" : "2026-12-01 13:00:00.5+00:00", "method": "GET", "path": "/\u00e4\"\ud83d\ude00\n", "status": 2e2}`, "",
			"",
		},
		"JSON without a status": {
			`{"@timestamp":1796130000123,"http_method":"GET","url":"/a","status":null}`, "json",
			"12-01T13:00:00.123|GET|/a||||-|",
		},
	} {
		entries, logs := read(t, Options{}, c.line+"\r\n")
		if c.format == "" {
			if len(entries) != 0 || logs[0].Unreadable != 1 && logs[0].Err == nil {
				t.Errorf("%s: %v, %+v", name, briefs(entries), logs[0])
			}
			continue
		}
		if len(entries) != 1 || brief(entries[0]) != c.want || logs[0].Layout.Format != c.format {
			t.Errorf("%s: got %q, want %q; %+v", name, briefs(entries), c.want, logs[0])
		}
	}
}

func TestReceivedSaysWhoseForwardedForItIs(t *testing.T) {
	yes, no := true, false
	nginx := `{"time":1796130000,"method":"GET","path":"/","remote_addr":"203.0.113.7","http_x_forwarded_for":null}`
	envoy := `{"time":1796130000,"method":"GET","path":"/","downstream_remote_address":"203.0.113.7:1","x_forwarded_for":null}`
	for name, c := range map[string]struct {
		line   string
		option *bool
		want   bool
	}{"nginx": {nginx, nil, true}, "envoy": {envoy, nil, false}, "forced": {envoy, &yes, true}, "forbidden": {nginx, &no, false}} {
		_, logs := read(t, Options{Received: c.option}, c.line)
		if l := logs[0].Layout; l == nil || l.Received != c.want || !l.HasClient || !l.HasForwardedFor || l.HasStatus || l.HasHost {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestFieldsAreFoundWhereTheyAreSaidToBe(t *testing.T) {
	for name, c := range map[string]struct {
		format string
		fields []string
		line   string
		want   string
	}{
		"nested JSON": {
			"", []string{"time=.t.at", "method=.req.method", "path=.req.path", "header:x-api-key=.req.h.x\\.api\\.key", "host==shop.example"},
			`{"t":{"at":1796130000},"req":{"method":"GET","path":"/a","h":{"x.api.key":"k","method":"no"}},"method":"no","status":200}`,
			"12-01T13:00:00.000|GET|/a|shop.example|||200|k",
		},
		"one value for two fields": {
			"", []string{"client=.who", "header:x-real-ip=.who"},
			`{"time":1796130000,"method":"GET","path":"/a","who":"203.0.113.7"}`,
			"12-01T13:00:00.000|GET|/a||203.0.113.7||-|203.0.113.7",
		},
		"an own text": {
			"text", []string{"time=1", "method=2", "path=3", "status=4"},
			`[2026-12-01T13:00:00.000Z] POST /login 429 routelimit_refused{pair} 0 ms`,
			"12-01T13:00:00.000|POST|/login||||429|",
		},
		"a further word": {
			"", []string{"forwarded_for=10"},
			`203.0.113.7 - - [01/Dec/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-" "198.51.100.9, 198.51.100.8"`,
			"12-01T13:00:00.000|GET|/||203.0.113.7|198.51.100.9, 198.51.100.8|200|;",
		},
		"the first of a key that occurs twice": {
			"", []string{"body:user=.user"},
			`{"time":1796130000,"method":"GET","path":"/","user":"a","user":"b"}`,
			"12-01T13:00:00.000|GET|/||||-|a",
		},
	} {
		entries, logs := read(t, Options{Format: c.format, Fields: fields(t, c.fields...)}, c.line)
		if len(entries) != 1 || brief(entries[0]) != c.want {
			t.Errorf("%s: got %q, want %q; %+v", name, briefs(entries), c.want, logs[0])
		}
	}
}

func TestWrongFieldsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"method":         "names no place",
		"=.a":            "names no place",
		"method=":        "names no place",
		"methd=.a":       `there is no "methd"`,
		"method=.a..b":   "an empty key",
		"method=.a[0]":   "cannot go into a list",
		`method=.a\\[0]`: "cannot go into a list",
		"method=0":       "is no place",
		"method=129":     "is no place",
		"method=verb":    "is no place",
		"header:x=a=b":   "is no place",
		"method=." + "a." + strings.Repeat("a.", 40) + "a": "more than 32",
	} {
		if _, err := ParseField(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "write") && !strings.Contains(err.Error(), "log the") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if f, err := ParseField(`method=.a\[0].b\.c`); err != nil || !slices.Equal(f.path, []string{"a[0]", "b.c"}) {
		t.Errorf("%q, %v", f.path, err)
	}
	text := `[2026-12-01T13:00:00.000Z] GET /`
	for name, c := range map[string]struct {
		format string
		fields []string
		line   string
		want   string
	}{
		"a word of JSON":   {"", []string{"time=3"}, `{"method":"GET","path":"/"}`, "the log is JSON"},
		"a path of text":   {"text", []string{"time=1", "method=2", "path=.p"}, text, "the log is no JSON"},
		"given twice":      {"text", []string{"time=1", "time=2"}, text, "given twice"},
		"nothing for text": {"text", nil, text, "its time and method and path"},
		"no path":          {"", nil, `{"time":1796130000,"method":"GET"}`, "its path"},
		"no format":        {"", nil, text, "--format text"},
		"an empty log":     {"", nil, "\n\n", "it is empty"},
	} {
		_, logs := read(t, Options{Format: c.format, Fields: fields(t, c.fields...)}, c.line)
		if err := logs[0].Err; err == nil || !strings.Contains(err.Error(), c.want) || logs[0].Layout != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
