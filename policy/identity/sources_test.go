package identity

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"routelimit/policy/route"
)

const fallen = "ip:192.0.2.1"

func TestParseSourceRefusesWhatCanNeverBePresent(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `source "" names no kind; write "header:…", "cookie:…", "query:…", "body:…", "path:…", "metadata:…", "jwt_unverified:…" or "property:…"`},
		{"x-api-key", `source "x-api-key" names no kind; write "header:…", "cookie:…", "query:…", "body:…", "path:…", "metadata:…", "jwt_unverified:…" or "property:…"`},
		{"Header:x", `source "Header:x" is of the unknown kind "Header"; write "header:…", "cookie:…", "query:…", "body:…", "path:…", "metadata:…", "jwt_unverified:…" or "property:…"`},
		{"header:", `source "header:": "" is no header name; write letters, digits and hyphens`},
		{"header: x", `source "header: x": " x" is no header name; write letters, digits and hyphens`},
		{"cookie:a b", `source "cookie:a b": a cookie's name has letters, digits and some signs, but no blank; write it as the application sets it`},
		{"query:", `source "query:": no parameter is named; write "query:" and its name`},
		{"body:", `source "body:": no field is named; write "body:" and a dotted path`},
		{"body:a..b", `source "body:a..b": the path "a..b" has an empty element; write names with one '.' between them`},
		{"body:a\x00", `source "body:a\x00": a path cannot hold a NUL character; take it out`},
		{"path:", `source "path:": no parameter is named; write "path:id" for ":id" in the route`},
		{"metadata:ns", `source "metadata:ns": a namespace and a key are needed; write "metadata:envoy.filters.http.jwt_authn/payload/sub"`},
		{"jwt_unverified:", `source "jwt_unverified:": the path "" has an empty element; write names with one '.' between them`},
		{"property:sorce.address", `source "property:sorce.address": no attribute that begins with "sorce" is known when a request arrives; begin with one of connection, destination, filter_state, metadata, request, source, xds`},
		{"property:response.code", `source "property:response.code": no attribute that begins with "response" is known when a request arrives; begin with one of connection, destination, filter_state, metadata, request, source, xds`},
	} {
		_, err := ParseSource(tt.text)
		if err == nil {
			t.Errorf("%q was taken", tt.text)
		} else if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
	for _, text := range []string{
		"body:" + strings.Repeat("a.", maxJSONPath) + "a",
		"body:" + strings.Repeat("a", maxJSONKey+1),
	} {
		if _, err := ParseSource(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestHeaderSource(t *testing.T) {
	for _, tt := range []struct {
		from string
		r    request
		want resolved
	}{
		{"header:x-key", header("x-key", "k1"), resolved{"id:k1", "id", 0}},
		{"header:X-Key", header("x-key", "\t k1 "), resolved{"id:k1", "id", 0}},
		{"header:x-key", header("x-key", "a, b"), resolved{"id:a,%20b", "id", 0}},
		{"header:authorization", header("authorization", "Bearer AbC="), resolved{"id:bearer%20AbC=", "id", 0}},
		{"header:Authorization", header("authorization", "BEARER  \t AbC="), resolved{"id:bearer%20AbC=", "id", 0}},
		{"header:proxy-authorization", header("proxy-authorization", "bAsic\tYTpi"), resolved{"id:basic%20YTpi", "id", 0}},
		{"header:authorization", header("authorization", "Token"), resolved{"id:token", "id", 0}},
		{"header:x-key", header("x-key", "Bearer  AbC="), resolved{"id:Bearer%20%20AbC=", "id", 0}},
		{"header:host", header(":authority", "api.example.com:80"), resolved{"id:api.example.com", "id", 0}},
		{"header:host", header(":authority", "API.Example.com.:8443"), resolved{"id:api.example.com", "id", 0}},
		{"header::authority", header(":authority", "[2001:DB8::1]:80"), resolved{"id:%5B2001:db8::1%5D", "id", 0}},
		{"header:host", header(":authority", "[2001:db8::1]"), resolved{"id:%5B2001:db8::1%5D", "id", 0}},
		{"header::authority", header(":authority", "a"), resolved{"id:a", "id", 0}},
		{"header:x-key", header("x-key", ""), resolved{fallen, "ip", NoIdentity}},
		{"header:x-key", header("x-other", "k1"), resolved{fallen, "ip", NoIdentity}},
		{"header:x-key", header("x-key", "k1", "x-key", "k1"), resolved{fallen, "ip", NoIdentity | Ambiguous}},
		{"header:x-key", header("x-key", "", "x-key", "k1"), resolved{fallen, "ip", NoIdentity | Ambiguous}},
	} {
		if diff := cmp.Diff(tt.want, resolve(single(t, tt.from), tt.r)); diff != "" {
			t.Errorf("%s of %q (-want +got):\n%s", tt.from, tt.r.headers, diff)
		}
	}
}

func TestCookieSource(t *testing.T) {
	for _, tt := range []struct {
		r    request
		want resolved
	}{
		{header("cookie", "sid=abc"), resolved{"id:abc", "id", 0}},
		{header("cookie", "a=1; sid=abc; b=2"), resolved{"id:abc", "id", 0}},
		{header("cookie", "a=1;sid = abc;;"), resolved{"id:abc", "id", 0}},
		{header("cookie", `sid="abc"`), resolved{"id:abc", "id", 0}},
		{header("cookie", "sid=s%3Aab%63"), resolved{"id:s:abc", "id", 0}},
		{header("cookie", "sid=a+b=c"), resolved{"id:a+b=c", "id", 0}},
		{header("cookie", "sid=%zz%"), resolved{"id:%25zz%25", "id", 0}},
		{header("cookie", "a=1", "cookie", "sid=abc"), resolved{"id:abc", "id", 0}},
		{header("cookie", "SID=abc"), resolved{"id:abc", "id", 0}},
		{header("cookie", "sid"), resolved{fallen, "ip", NoIdentity}},
		{header("cookie", `sid=""`), resolved{fallen, "ip", NoIdentity}},
		{header("cookie", "xsid=1; si=2; a=sid"), resolved{fallen, "ip", NoIdentity}},
		{header("cookie", ""), resolved{fallen, "ip", NoIdentity}},
		{request{}, resolved{fallen, "ip", NoIdentity}},
		{header("cookie", "sid=abc; sid=abc"), resolved{fallen, "ip", NoIdentity | Ambiguous}},
		{header("cookie", "sid=abc", "cookie", "Sid=x"), resolved{fallen, "ip", NoIdentity | Ambiguous}},
	} {
		if diff := cmp.Diff(tt.want, resolve(single(t, "cookie:sid"), tt.r)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.r.headers, diff)
		}
	}
}

func TestQuerySource(t *testing.T) {
	for path, want := range map[string]resolved{
		"/a?key=k1":               {"id:k1", "id", 0},
		"/a?x=1&key=k1&y":         {"id:k1", "id", 0},
		"/a?%6Bey=k%31":           {"id:k1", "id", 0},
		"/a?KEY=k1":               {"id:k1", "id", 0},
		"/a?key=a+b":              {"id:a%20b", "id", 0},
		"/a?key=a%2Bb":            {"id:a+b", "id", 0},
		"/a?key=a?b":              {"id:a%3Fb", "id", 0},
		"/a?key=%zz":              {"id:%25zz", "id", 0},
		"/a?key=k1#key=k2":        {"id:k1", "id", 0},
		"/a#?key=k2":              {fallen, "ip", NoIdentity},
		"/a":                      {fallen, "ip", NoIdentity},
		"/a?":                     {fallen, "ip", NoIdentity},
		"/a?key":                  {fallen, "ip", NoIdentity},
		"/a?key=%20":              {fallen, "ip", NoIdentity},
		"/key=k1":                 {fallen, "ip", NoIdentity},
		"/a?key=k1&key=k1":        {fallen, "ip", NoIdentity | Ambiguous},
		"/a?key=k1&k%65y=":        {fallen, "ip", NoIdentity | Ambiguous},
		"/a?key=k1&%C3%A9&Key=k2": {fallen, "ip", NoIdentity | Ambiguous},
	} {
		if diff := cmp.Diff(want, resolve(single(t, "query:key"), header(":path", path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestPathSource(t *testing.T) {
	r := request{params: []route.Param{{Name: "org", Value: "o"}, {Name: "id", Value: "a%2Fb"}}}
	if got, want := keyOf(single(t, "path:id"), r), "id:a%252Fb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := keyOf(single(t, "path:other"), r); got != fallen {
		t.Errorf("got %q, want %q", got, fallen)
	}
}

func double(f float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func integer(n int64) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func TestMetadataSource(t *testing.T) {
	const path = "metadata\x00filter_metadata\x00ns\x00payload\x00sub"
	for value, want := range map[string]string{
		"user-1":              "id:user-1",
		"12345678":            "id:12345678", // eight bytes of text
		"grüße!":              "id:gr%C3%BC%C3%9Fe%21",
		double(42):            "id:42",
		double(0):             "id:0",
		double(-3):            "id:-3",
		double(1 << 52):       "id:4503599627370496",
		double(1<<53 - 1):     "id:9007199254740991",
		double(1 << 53):       fallen, // its neighbour looks the same
		double(1e300):         fallen,
		double(1.5):           fallen,
		double(math.NaN()):    fallen,
		double(math.Inf(-1)):  fallen,
		"":                    fallen,
		"\x00":                fallen, // false
		"\x01":                fallen, // true
		"\x01\x00\x00\x00abc": fallen, // a list or a map
	} {
		r := request{properties: [][2]string{{path, value}}}
		if got := keyOf(single(t, "metadata:ns/payload/sub"), r); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	r := request{properties: [][2]string{{"metadata\x00filter_metadata\x00ns\x00https://ns/x", "u"}}}
	if got, want := keyOf(single(t, `metadata:ns/https:\/\/ns\/x`), r), "id:u"; got != want {
		t.Errorf("escaped: got %q, want %q", got, want)
	}
	if got := keyOf(single(t, "metadata:ns/absent"), r); got != fallen {
		t.Errorf("absent: got %q, want %q", got, fallen)
	}
}

func TestPropertySource(t *testing.T) {
	for _, tt := range []struct{ from, path, value, want string }{
		{"property:connection.id", "connection\x00id", integer(77), "id:77"},
		{"property:connection.id", "connection\x00id", integer(-1), "id:-1"},
		{"property:xds.route_name", "xds\x00route_name", "orders", "id:orders"},
		{`property:filter_state.wasm\.user`, "filter_state\x00wasm.user", "u", "id:u"},
		{"property:xds.route_metadata.filter_metadata.ns.n", "xds\x00route_metadata\x00filter_metadata\x00ns\x00n", double(5), "id:5"},
		{"property:connection.mtls", "connection\x00mtls", "\x01", fallen},
	} {
		r := request{properties: [][2]string{{tt.path, tt.value}}}
		if got := keyOf(single(t, tt.from), r); got != tt.want {
			t.Errorf("%s of %q: got %q, want %q", tt.from, tt.value, got, tt.want)
		}
	}
}

func TestG33_OddRequestsFallToTheNextIdentity(t *testing.T) {
	long := strings.Repeat("x", 60<<10)
	many := make([]string, 0, 400)
	for range 200 {
		many = append(many, "x-filler", long[:100])
	}
	for name, tt := range map[string]struct {
		from string
		r    request
		want resolved
	}{
		"no header":         {"header:x-api-key", request{}, resolved{fallen, "ip", NoIdentity}},
		"no authority":      {"header:host", request{}, resolved{fallen, "ip", NoIdentity}},
		"empty value":       {"header:x-api-key", header("x-api-key", ""), resolved{fallen, "ip", NoIdentity}},
		"bytes 80 and FF":   {"header:x-api-key", header("x-api-key", "\x80\xff"), resolved{"id:%80%FF", "id", 0}},
		"200 headers":       {"header:x-api-key", header(append(many, "x-api-key", "k")...), resolved{"id:k", "id", 0}},
		"64 KB path":        {"query:key", header(":path", "/"+long+"?key=k"), resolved{"id:k", "id", 0}},
		"no path":           {"query:key", request{}, resolved{fallen, "ip", NoIdentity}},
		"no authorization":  {"jwt_unverified:sub", request{}, resolved{fallen, "ip", NoIdentity}},
		"1,000 letters":     {"header::method", header(":method", long[:1000]), resolved{"id:#44f8354494a5ba03ba1792a8d3e9c534", "id", Oversized}},
		"no property":       {"property:xds.route_name", request{}, resolved{fallen, "ip", NoIdentity}},
		"no metadata":       {"metadata:ns/sub", request{}, resolved{fallen, "ip", NoIdentity}},
		"no params":         {"path:id", request{}, resolved{fallen, "ip", NoIdentity}},
		"no body, no type":  {"body:username", request{}, resolved{fallen, "ip", NoIdentity}},
		"body without type": {"body:username", request{body: &Body{Bytes: []byte("x"), Complete: true}}, resolved{"id:#unread", "id", BodyUnread}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resolve(single(t, tt.from), tt.r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
